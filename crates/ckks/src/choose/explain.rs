//! A choice in words.

use std::fmt;

use super::{Choice, LOG2_FAILURE, bound};

/// `1 digit`, `2 digits`.
fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requirements, params, chain, log_scale, bits, refreshing } = self;
        let (degree, lattice) = (params.degree(), params.lattice());
        write!(f, "N = {degree} for {} slots, ", params.max_slots())?;
        write!(f, "{}: {}", counted(params.limbs(), "prime"), chain.first_bits)?;
        for levels in &chain.levels {
            let each = levels.bits as f64 / levels.primes as f64;
            match levels.primes {
                1 => write!(f, " + {} x {}", levels.count, levels.bits)?,
                primes => write!(f, " + {} x ({primes} x {each})", levels.count)?,
            }
        }
        let (size, count) = chain.special;
        let secret = lattice.spec().secret;
        writeln!(f, " bits, and {count} special of {size}; secret {secret}, sigma = 3.2.")?;

        writeln!(
            f,
            "Precision: at scale 2^{log_scale}, {}{} in a row of numbers of [-1, 1] leave \
             {bits:.1} bits in the worst of {} slots but for a chance of 2^{LOG2_FAILURE} (asked: \
             {} bits).",
            if refreshing.is_some() { "a refresh and then " } else { "" },
            counted(requirements.depth, "product"),
            requirements.slots,
            requirements.bits
        )?;

        let size = lattice.log2_modulus();
        let most = bound(requirements.security, degree, secret).unwrap_or(size);
        write!(
            f,
            "Security: log2 QP = {size:.1}, at most {most} in this ring for {}. ",
            requirements.security
        )?;
        // The smallest modulus that would do: the lowest prime and the levels, no digit at all.
        let half = degree / 2;
        let less = bound(requirements.security, half, secret);
        match less.filter(|_| half / 2 >= requirements.slots) {
            Some(less) => writeln!(
                f,
                "The modulus binds: N = {half} has the slots but room for {less} bits only, and the \
                 lowest prime, {}{} and a special prime need more.",
                counted(requirements.depth, "level"),
                if refreshing.is_some() { ", those of a refresh" } else { "" }
            )?,
            None => writeln!(f, "The slots bind: N = {half} has {} of them.", half / 2)?,
        }

        if let Some(refreshing) = refreshing {
            let bootstrapper = refreshing.bootstrapper();
            let spec = bootstrapper.spec();
            writeln!(
                f,
                "Refreshing: from level {} to level {}, by way of {} for S2C, {} for the reduction \
                 and {} for C2S; {:.1} bits in the worst slot of a refreshed vector; some value of it \
                 is garbage with a chance of 2^{}; its lowest modulus stands under a secret of weight \
                 {}, {:.0}-bit security in all.",
                bootstrapper.input_level(),
                bootstrapper.output_level(),
                counted(spec.s2c_levels, "level"),
                bootstrapper.reduction().depth(),
                spec.c2s_levels,
                refreshing.bits(),
                spec.log2_failure,
                spec.weight,
                bootstrapper.security_bits().floor(),
            )?;
        }

        let predicted = self.predicted();
        let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        writeln!(
            f,
            "Sizes: a fresh ciphertext {:.2} MiB; the relinearisation key, or the key of one \
             rotation, {:.2} MiB in {} ({:.2} MiB as it travels).",
            mib(predicted.ciphertext_bytes),
            mib(predicted.key_bytes),
            counted(predicted.digits, "digit"),
            mib(predicted.key_bytes_seeded)
        )?;
        write!(
            f,
            "Times, estimated for one thread with AVX-512 IFMA: product {:.1} ms, rotation {:.1} ms \
             at the top level.",
            predicted.product.seconds() * 1e3,
            predicted.rotation.seconds() * 1e3
        )?;
        if let Some(refresh) = predicted.refresh {
            write!(
                f,
                " A refresh of real numbers {:.1} s, of complex ones {:.1} s; its keys {:.0} MiB ({:.0} \
                 MiB as they travel).",
                refresh.real.seconds(),
                refresh.complex.seconds(),
                mib(refresh.keys.memory),
                mib(refresh.keys.transit),
            )?;
        }
        Ok(())
    }
}
