//! What the machine is: devices, clocks, CPUs, limits; safe wrappers over system calls.
