//! Errors that name the refused operation: what the error types of all crates have in common.

/// Names the operation in an error.
///
/// Inner functions return errors without an operation. The function that a caller calls names
/// itself: `self.check(x).during("rotate")?`. A name replaces that of an inner operation, so that
/// callers read the name of what they called.
#[doc(hidden)]
pub trait During {
    /// The same with a named operation.
    type Named;

    /// The same error, raised during `op`.
    fn during(self, op: &'static str) -> Self::Named;

    /// The same error, raised during `op` unless it names an operation already.
    fn during_if_unnamed(self, op: &'static str) -> Self::Named;
}

impl<T, E: During> During for Result<T, E> {
    type Named = Result<T, E::Named>;

    fn during(self, op: &'static str) -> Self::Named {
        self.map_err(|error| error.during(op))
    }

    fn during_if_unnamed(self, op: &'static str) -> Self::Named {
        self.map_err(|error| error.during_if_unnamed(op))
    }
}

/// Declares the error type of a crate: an operation, and a kind that says why it was refused.
/// `from` lists the crates whose errors convert; their operation is kept.
#[doc(hidden)]
#[macro_export]
macro_rules! op_error {
    ($(#[$attribute:meta])* pub struct $error:ident($kind:ident) from [$($lower:ident),* $(,)?];) => {
        $(#[$attribute])*
        pub struct $error {
            op: &'static str,
            kind: Box<$kind>,
        }

        impl $error {
            /// The operation that was refused; empty if the error names none.
            pub fn op(&self) -> &'static str {
                self.op
            }

            /// The reason.
            pub fn kind(&self) -> &$kind {
                &self.kind
            }

            /// The reason, by value.
            pub fn into_kind(self) -> $kind {
                *self.kind
            }
        }

        /// The operation, if one is named, and the reason.
        impl std::fmt::Display for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.op {
                    "" => write!(f, "{}", self.kind),
                    op => write!(f, "{op}: {}", self.kind),
                }
            }
        }

        impl std::error::Error for $error {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                self.kind.source()
            }
        }

        impl<K> From<K> for $error
        where
            $kind: From<K>,
        {
            fn from(kind: K) -> Self {
                Self { op: "", kind: Box::new(kind.into()) }
            }
        }

        $(impl From<$lower::Error> for $error {
            fn from(error: $lower::Error) -> Self {
                Self { op: error.op(), kind: Box::new(error.into_kind().into()) }
            }
        })*

        /// The reason why a call was refused.
        #[cfg(test)]
        #[track_caller]
        pub(crate) fn refusal<T>(result: &std::result::Result<T, $error>) -> &$kind {
            match result {
                Err(error) => error.kind(),
                Ok(_) => panic!("not refused"),
            }
        }

        impl $crate::During for $error {
            type Named = Self;

            fn during(self, op: &'static str) -> Self {
                Self { op, ..self }
            }

            fn during_if_unnamed(self, op: &'static str) -> Self {
                match self.op {
                    "" => self.during(op),
                    _ => self,
                }
            }
        }

        impl $crate::During for $kind {
            type Named = $error;

            fn during(self, op: &'static str) -> $error {
                $error { op, kind: Box::new(self) }
            }

            fn during_if_unnamed(self, op: &'static str) -> $error {
                self.during(op)
            }
        }
    };
}

/// Conversions of the kinds of lower crates into the `ErrorKind` of the calling crate.
///
/// Every reason has one spelling: a kind that a lower crate has taken over from one further below
/// (`[Ring, Mlwe]`) is converted as itself. Further patterns translate single kinds. All others
/// become the variant that holds the kinds of that crate.
#[doc(hidden)]
#[macro_export]
macro_rules! lower_kinds {
    ($(
        $own:ident($lower:path) via [$($below:ident),*] $({ $($kind:pat => $same:expr,)* })?;
    )*) => {$(
        impl From<$lower> for ErrorKind {
            fn from(kind: $lower) -> Self {
                use $lower as Lower;
                match kind {
                    $(Lower::$below(kind) => kind.into(),)*
                    $($($kind => $same,)*)?
                    other => Self::$own(other),
                }
            }
        }
    )*};
}
