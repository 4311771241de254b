//! [`wire_form!`](crate::wire_form): the declaration of a serialized form.

/// Declares a serialized form and implements [`Wire`](crate::wire::Wire) by it: the object, its
/// type number and its name in messages, then the fields in the order of the bytes, each with the
/// expression that writes it. `fn write` has the checks and definitions before these expressions,
/// and `fn read` the body of [`from_form`](crate::wire::Wire::from_form). The second kind, `for
/// OBJECT: NUMBER, NAME as FORM;`, is for objects whose form is declared elsewhere; its `fn write`
/// returns the form.
///
/// ```
/// use bellerophon_ring::wire::{Fingerprint, Fingerprinted, Packed, Wire};
/// use bellerophon_ring::{Modulus, wire_form};
/// struct Prime(Modulus);
/// impl Fingerprinted for Prime {
///     fn fingerprint(&self) -> Fingerprint { Fingerprint::NONE }
/// }
/// struct Residues(Vec<u64>);
/// wire_form! {
///     /// The plain form of `Residues`.
///     struct ResiduesForm<'a> for Residues: 0xffff, "residues" {
///         count: u32 = self.0.len() as u32,
///         words: Packed<'a> = Packed::words(&prime.0, &self.0),
///     }
///     fn write(&self, prime: &Prime) {}
///     fn read(prime, form) { Ok(Self(form.words.unpack_words(&prime.0, form.count as usize)?)) }
/// }
/// let prime = Prime(Modulus::new(97)?);
/// let residues = Residues(vec![96, 5]);
/// let form = residues.to_form(&prime)?;
/// assert_eq!(Residues::from_form(&prime, form)?.0, [96, 5]);
/// # Ok::<(), bellerophon_ring::Error>(())
/// ```
#[macro_export]
macro_rules! wire_form {
    // The form is declared here. Its fields borrow from the bytes that are read.
    (
        $(#[$doc:meta])*
        $vis:vis struct $Form:ident<$a:lifetime> for $Object:ty: $kind:expr, $name:literal {
            $($(#[$about:meta])* $field_vis:vis $field:ident: $Field:ty = $value:expr,)*
        }
        fn write(&$this:ident, $params:tt: &$Params:ty) { $($prelude:tt)* }
        fn read($known:tt, $form:ident) { $($read:tt)* }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(bound(deserialize = "'de: 'a"))]
        $vis struct $Form<$a> {
            $($(#[$about])* $field_vis $field: $Field,)*
        }

        $crate::wire_form! {
            for $Object: $kind, $name as $Form<$a>;
            fn write(&$this, $params: &$Params) {
                $($prelude)*
                Ok($Form { $($field: $value,)* })
            }
            fn read($known, $form) { $($read)* }
        }
    };

    // The form is declared elsewhere.
    (
        for $Object:ty: $kind:expr, $name:literal as $Form:ty;
        fn write(&$this:ident, $params:tt: &$Params:ty) { $($write:tt)* }
        fn read($known:tt, $form:ident) { $($read:tt)* }
    ) => {
        impl $crate::wire::Wire for $Object {
            const KIND: u16 = $kind;
            const NAME: &'static str = $name;
            type Params = $Params;
            type Form<'a> = $Form;

            fn to_form(
                &$this,
                $params: &$Params,
            ) -> $crate::Result<Self::Form<'_>> {
                $($write)*
            }

            fn from_form(
                $known: &$Params,
                $form: Self::Form<'_>,
            ) -> $crate::Result<Self> {
                $($read)*
            }
        }
    };
}
