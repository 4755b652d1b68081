//! Linux's numbers of errors. The socket option `SO_ERROR` returns these numbers.

/// The errors by name.
pub(super) const ERROR_NUMBERS: [(&str, i64); 9] = [
    ("ECONNREFUSED", 111),
    ("ECONNRESET", 104),
    ("EHOSTDOWN", 112),
    ("EHOSTUNREACH", 113),
    ("ENETUNREACH", 101),
    ("ENOPROTOOPT", 92),
    ("EOPNOTSUPP", 95),
    ("EPIPE", 32),
    ("ETIMEDOUT", 110),
];
