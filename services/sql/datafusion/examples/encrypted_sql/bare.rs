//! The work of the queries by rayon alone.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use bellerophon::{
    Ciphertext,
    circuits::{approx::Known, polynomial::Monomial},
    ckks::SeededCiphertext,
    format,
    prelude::*,
};
use common::program::Failure;
use datafusion::{
    arrow::{array::AsArray, compute::cast, datatypes::DataType},
    prelude::SessionContext,
};
use rayon::prelude::*;

use crate::MAP_BITS;

/// The same work by rayon alone: from a file of vectors to the bytes of results in memory.
pub struct Bare {
    server: Evaluator,
    file: PathBuf,
    vectors: Vec<Place>,
}

/// Where a vector is in the file.
struct Place {
    group: String,
    start: u64,
    len: usize,
}

impl Bare {
    pub async fn new(
        client: &ClientKey,
        needs: &Needs,
        encrypted: &SessionContext,
        folder: &Path,
    ) -> Result<Self, Failure> {
        let keys = client.evaluation_keys(needs).map_err(Failure::run)?;
        let server = Evaluator::new(keys).map_err(Failure::run)?;
        let frame = encrypted.sql("SELECT g, v FROM t").await.map_err(Failure::run)?;
        let path = folder.join("vectors");
        let mut file = File::create(&path).map_err(Failure::run)?;
        let (mut vectors, mut start) = (vec![], 0);
        for batch in frame.collect().await.map_err(Failure::run)? {
            let groups = cast(batch.column(0), &DataType::Utf8).map_err(Failure::run)?;
            let rows = groups.as_string::<i32>().iter().zip(batch.column(1).as_binary::<i32>());
            for (group, bytes) in rows {
                let bytes = bytes.unwrap_or_default();
                file.write_all(bytes).map_err(Failure::run)?;
                let (group, len) = (group.unwrap_or_default().to_string(), bytes.len());
                vectors.push(Place { group, start, len });
                start += len as u64;
            }
        }
        Ok(Self { server, file: path, vectors })
    }

    /// Reads a vector from the file.
    fn read(&self, place: &Place) -> bellerophon::Result<Ciphertext> {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(&self.file)?;
            file.seek(SeekFrom::Start(place.start))?;
            let mut bytes = vec![0; place.len];
            file.read_exact(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read()?;
        let x: SeededCiphertext = format::from_bytes(self.server.params(), &bytes)?;
        x.expand(self.server.params().ckks())
    }

    /// The mean, or the mean and the mean square.
    pub fn mean(&self, square: bool) -> Result<(), Failure> {
        let sum = |squares: bool| -> bellerophon::Result<Vec<u8>> {
            let terms: bellerophon::Result<Vec<Ciphertext>> = self
                .vectors
                .par_iter()
                .map(|place| {
                    let x = self.read(place)?;
                    let x = if squares { self.server.square(&x)? } else { x };
                    let slots = x.meta().slots;
                    self.server.with_len(x, slots)
                })
                .collect();
            let terms = terms?;
            let sum = self.server.add_many(&terms.iter().collect::<Vec<_>>())?;
            let mean = self.server.mul_scalar(&self.server.sum_slots(&sum)?, 1e-6)?;
            format::to_bytes(self.server.params(), &mean)
        };
        let work = || sum(false).and_then(|_| if square { sum(true).map(|_| ()) } else { Ok(()) });
        work().map_err(Failure::run)
    }

    /// The sum of every group.
    pub fn sums(&self) -> Result<(), Failure> {
        let work = || -> bellerophon::Result<()> {
            let terms: bellerophon::Result<Vec<(&str, Ciphertext)>> = self
                .vectors
                .par_iter()
                .map(|place| {
                    let x = self.read(place)?;
                    let slots = x.meta().slots;
                    Ok((place.group.as_str(), self.server.with_len(x, slots)?))
                })
                .collect();
            let mut groups = BTreeMap::<&str, Vec<Ciphertext>>::new();
            terms?.into_iter().for_each(|(group, x)| groups.entry(group).or_default().push(x));
            let groups: Vec<_> = groups.into_values().collect();
            groups.par_iter().try_for_each(|terms| {
                let sum = self.server.add_many(&terms.iter().collect::<Vec<_>>())?;
                let sum = self.server.sum_slots(&sum)?;
                format::to_bytes(self.server.params(), &sum).map(|_| ())
            })
        };
        work().map_err(Failure::run)
    }

    /// The sigmoid of every value, planned once.
    pub fn map(
        &self,
        scaling: Option<[f64; 2]>,
        domain: RangeInclusive<f64>,
    ) -> Result<(), Failure> {
        let accuracy = Accuracy::bits(MAP_BITS);
        let request = || MapRequest::of(Known::Sigmoid).over(domain.clone()).error(accuracy);
        let read = |place: &Place| {
            let x = self.read(place)?;
            Ok::<_, bellerophon::Error>(match scaling {
                Some(coefficients) => {
                    self.server.monomial(&x, &Monomial::new(&coefficients)?, None)?
                }
                None => x,
            })
        };
        let work = || -> bellerophon::Result<()> {
            let plan = self.server.map_plan(&read(&self.vectors[0])?, &request())?;
            // The results of a query stay in memory, too.
            let results = self.vectors.par_iter().map(|place| {
                let y = self.server.map_with(&read(place)?, &request().planned(&plan))?;
                format::to_bytes(self.server.params(), &y)
            });
            results.collect::<bellerophon::Result<Vec<Vec<u8>>>>().map(|_| ())
        };
        work().map_err(Failure::run)
    }
}
