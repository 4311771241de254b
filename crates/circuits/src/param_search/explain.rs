//! The explanation of a selected parameter set in words.

use std::fmt;

use super::{LOG2_FAILURE, ReductionChoice, SelectedBootstrap, SelectedParams, bound};

/// `1 digit`, `2 digits`.
fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

impl fmt::Display for ReductionChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { log_gap, degree, double_angles, arcsine, bound, levels, .. } = self;
        let Self { modulus_bits, log_scale, bits, seconds, .. } = self;
        write!(
            f,
            "a cosine of degree {degree} over |x| <= {bound:.1}, {}, an arcsine of degree \
             {arcsine} and a gap of {log_gap} bits, in {} of {modulus_bits:.0} bits together; at \
             scale 2^{log_scale}, {bits:.1} bits; a bootstrap of complex numbers in {seconds:.2} \
             s.",
            counted(*double_angles, "double angle"),
            counted(*levels, "level"),
        )
    }
}

impl fmt::Display for SelectedParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_ring(f)?;
        self.write_precision(f)?;
        self.write_security(f)?;
        if let Some(bootstrap) = &self.bootstrap {
            bootstrap.write(f)?;
        }
        self.write_predictions(f)
    }
}

impl SelectedParams {
    /// Line 1: ring, primes and secret.
    fn write_ring(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { params, chain, .. } = self;
        let (degree, lattice) = (params.lattice().spec().degree, params.lattice());
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
        writeln!(f, " bits, and {count} special of {size}; secret {secret}, sigma = 3.2.")
    }

    /// Line 2: the precision guarantee.
    fn write_precision(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requirements, log_scale, bits, bootstrap, .. } = self;
        writeln!(
            f,
            "Precision: at scale 2^{log_scale}, {}{} in a row of numbers of [-1, 1] leave \
             {bits:.1} bits in the worst of {} slots, except with probability 2^{LOG2_FAILURE} \
             (asked: {} bits).",
            if bootstrap.is_some() { "a bootstrap and then " } else { "" },
            counted(requirements.depth, "product"),
            requirements.slots,
            requirements.bits()
        )
    }

    /// Line 3: security, and whether modulus or slots determine the ring.
    fn write_security(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requirements, params, bootstrap, .. } = self;
        let (degree, lattice) = (params.lattice().spec().degree, params.lattice());
        let secret = lattice.spec().secret;
        let size = lattice.log2_modulus();
        let most = bound(requirements.security, degree, secret).unwrap_or(size);
        write!(
            f,
            "Security: log2 QP = {size:.1}, at most {most} in this ring for {}. ",
            requirements.security
        )?;
        // Half the ring fails by its modulus if it has the slots, otherwise by its slots.
        let half = degree / 2;
        let less = bound(requirements.security, half, secret);
        match less.filter(|_| half / 2 >= requirements.slots) {
            Some(less) => writeln!(
                f,
                "The modulus binds: N = {half} has the slots but room for {less} bits only, and \
                 the lowest prime, {}{} and a special prime need more.",
                counted(requirements.depth, "level"),
                if bootstrap.is_some() { ", those of a bootstrap" } else { "" }
            ),
            None => writeln!(f, "The slots bind: N = {half} has {} of them.", half / 2),
        }
    }

    /// Lines 5 and 6: sizes and times.
    fn write_predictions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let predicted = self.predicted();
        let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        writeln!(
            f,
            "Sizes: a fresh ciphertext {:.2} MiB; the relinearization key, or the key of one \
             rotation, {:.2} MiB in {} ({:.2} MiB serialized).",
            mib(predicted.ciphertext_bytes),
            mib(predicted.key_bytes),
            counted(predicted.digits, "digit"),
            mib(predicted.key_bytes_seeded)
        )?;
        write!(
            f,
            "Times, estimated for one thread with AVX-512 IFMA: product {:.1} ms, rotation {:.1} \
             ms at the top level.",
            predicted.product.seconds() * 1e3,
            predicted.rotation.seconds() * 1e3
        )?;
        if let Some(bootstrap) = predicted.bootstrap {
            write!(
                f,
                " A bootstrap of real numbers {:.1} s, of complex numbers {:.1} s; its keys {:.0} \
                 MiB ({:.0} MiB serialized).",
                bootstrap.real.seconds(),
                bootstrap.complex.seconds(),
                mib(bootstrap.keys.memory),
                mib(bootstrap.keys.transit),
            )?;
        }
        Ok(())
    }
}

impl SelectedBootstrap {
    /// Line 4: bootstrapping, and the choices of EvalMod.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bootstrapper = &self.bootstrapper;
        let spec = bootstrapper.spec();
        writeln!(
            f,
            "Bootstrapping: from level {} to level {}, with {} for S2C, {} for EvalMod and {} \
             for C2S; {:.1} bits in the worst slot of a bootstrapped vector; failure \
             probability 2^{} of each vector; sparse-secret encapsulation of weight {} at the \
             lowest modulus; {:.0}-bit security in all.",
            bootstrapper.input_level(),
            bootstrapper.output_level(),
            counted(spec.s2c_levels, "level"),
            bootstrapper.reduction().depth(),
            spec.c2s_levels,
            self.bits,
            spec.log2_failure,
            spec.weight,
            bootstrapper.security_bits().floor(),
        )?;
        for (i, choice) in self.reductions.iter().enumerate() {
            let lead = if i == 0 { "EvalMod:" } else { "Instead, at a higher cost:" };
            writeln!(f, "{lead} {choice}")?;
        }
        Ok(())
    }
}
