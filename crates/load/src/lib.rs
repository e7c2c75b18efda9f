//! Where, when and with what bytes an I/O is made.
