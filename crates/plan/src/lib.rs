//! Job specifications and facts become an immutable plan.
