//! Requests for several functions of the same values.

use std::ops::RangeInclusive;

use bellerophon_ckks::Ciphertext;

use super::request::MapRequest;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;

use crate::{domain::carried_domain, evaluator::LookupEvaluator};

impl LookupEvaluator<'_> {
    /// Applies several functions ([`MapRequest::many`]) to every value of one or several vectors,
    /// each by a plain table. The values of a vector leave the slots once. The results are ordered
    /// by function, then by vector; [`MapRequest::packed`] packs them into one vector, at one
    /// amplitude.
    ///
    /// # Errors
    /// [`ErrorKind::Request`] for requirements that several functions do not take.
    pub fn map_many(
        &self,
        operands: &[&Ciphertext],
        request: &MapRequest<'_>,
    ) -> Result<Vec<Ciphertext>> {
        request.check_many()?;
        let functions = request.functions();
        let functions: Vec<&dyn Fn(f64) -> f64> = functions.iter().map(|f| &**f).collect();
        // Packed results have one domain: the hull of what the vectors carry.
        if request.packed {
            let carried = operands.iter().map(|x| carried_domain(x.range()));
            let domain = request.domain.clone().or_else(|| carried.reduce(|a, b| hull(&a, &b)));
            let domain = domain.unwrap_or(-1.0..=1.0);
            return Ok(vec![self.maps_packed(operands, domain, &functions)?]);
        }
        // Each vector leaves the slots once, with a domain of its own.
        let each = operands.iter().map(|x| {
            let domain = request.domain.clone().unwrap_or_else(|| carried_domain(x.range()));
            Ok(self.maps(x, domain, &functions)?.into_iter())
        });
        let mut each = each.collect::<Result<Vec<_>>>()?;
        // From the order by vector to the order by function.
        let by_function = (0..functions.len())
            .flat_map(|_| each.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>());
        Ok(by_function.collect())
    }
}

/// The smallest interval that contains both.
fn hull(a: &RangeInclusive<f64>, b: &RangeInclusive<f64>) -> RangeInclusive<f64> {
    a.start().min(*b.start())..=a.end().max(*b.end())
}
