//! One large file in git's store, handed over piece by piece: memory stays flat whatever its size.

#![expect(clippy::disallowed_methods, reason = "the edge to git and its files")]

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use flate2::read::ZlibDecoder;
use flate2::{Decompress, FlushDecompress};
use gix::objs::Kind;
use sha1::{Digest, Sha1};
use skill_fs::AbsPath;

use crate::SourceError;
use crate::git::objects::LARGE;
use crate::git::program::git_at;
use crate::git::repository::broken;

/// How much is handed over at a time.
const CHUNK: usize = 256 << 10;

/// The most that stands before the bytes of an object: a word, twenty digits and a NUL.
const HEADER: usize = 64;

/// A blob in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// The repository.
    pub(crate) repository: AbsPath,
    /// The id of the blob.
    pub(crate) id: String,
    /// Where it is if it stands in a file of its own, not in a pack.
    pub(crate) loose: PathBuf,
}

/// A file that is too large to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Large {
    /// What it is in git's store.
    pub(crate) object: Object,
    /// Its length.
    pub(crate) size: u64,
    /// A copy of it, which is quicker to read. It is only a cache: it may change or vanish at any time.
    pub(crate) cached: Option<AbsPath>,
}

impl Large {
    /// Hands all bytes to `take`, and checks that they are the ones that the id names.
    pub(crate) fn stream(
        &self,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), SourceError> {
        let mut sha = blob_hasher(self.size);
        let mut unwritten = None;
        let hand_on = |bytes: &[u8]| {
            sha.update(bytes);
            // Told apart from what goes wrong with reading.
            take(bytes).inspect_err(|error| unwritten = Some(error.to_string()))
        };
        let copy = self.cached.as_ref().and_then(|path| fs::File::open(path.as_path()).ok());
        let streamed = match (copy, fs::File::open(&self.object.loose)) {
            (Some(file), _) => self.object.pump(file, hand_on),
            (None, Ok(file)) => self
                .object
                .header(file, Kind::Blob)
                .and_then(|(_, reader)| self.object.pump(reader, hand_on)),
            (None, Err(_)) => self.object.cat_file(hand_on),
        };
        if let Some(why) = unwritten {
            return Err(SourceError::Copy(why));
        }
        streamed?;
        if hex(&sha.finalize()) == self.object.id {
            Ok(())
        } else {
            let what = format!("the object {}, or its copy, is damaged", self.object.id);
            Err(self.object.broken(&what))
        }
    }
}

/// What an object that stands in a file of its own holds.
pub(crate) enum Loose {
    /// All of it.
    Small(Arc<[u8]>),
    /// It has this length, and is too large to hold.
    Large(u64),
}

impl Object {
    /// Reads the object if it stands in a file of its own, and not in a pack: one look is enough for its length and its
    /// bytes.
    pub(crate) fn loose(
        &self,
        kind: Kind,
        zlib: &mut Decompress,
    ) -> Result<Option<Loose>, SourceError> {
        // Looked at first: what is no file may keep whoever opens it waiting.
        let found = fs::metadata(&self.loose).ok().filter(fs::Metadata::is_file);
        let Some(packed) = found.map(|found| found.len()) else { return Ok(None) };
        let mut file = fs::File::open(&self.loose).map_err(|error| self.broken(&error))?;
        if packed > LARGE {
            return Ok(Some(Loose::Large(self.header(file, kind)?.0)));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(packed).unwrap_or(0) + 1);
        file.read_to_end(&mut bytes).map_err(|error| self.broken(&error))?;
        let damaged = || self.broken(&format!("the object {} is damaged", self.id));
        zlib.reset(true);
        let mut whole = Vec::with_capacity(HEADER);
        zlib.decompress_vec(&bytes, &mut whole, FlushDecompress::None).map_err(|_| damaged())?;
        let end = whole.iter().position(|byte| *byte == 0).ok_or_else(damaged)? + 1;
        let size = self.size(&whole[..end], kind)?;
        if size > LARGE {
            return Ok(Some(Loose::Large(size)));
        }
        // One more than there should be, to see that there is no more.
        let all = end + usize::try_from(size).unwrap_or(0);
        whole.reserve_exact((all + 1).saturating_sub(whole.len()));
        let rest = usize::try_from(zlib.total_in()).unwrap_or(bytes.len());
        zlib.decompress_vec(&bytes[rest..], &mut whole, FlushDecompress::Finish)
            .map_err(|_| damaged())?;
        if whole.len() != all {
            return Err(damaged());
        }
        Ok(Some(Loose::Small(whole[end..].into())))
    }

    /// Reads the beginning of an object; returns its length and what gives the bytes.
    fn header(&self, file: fs::File, kind: Kind) -> Result<(u64, impl Read), SourceError> {
        let mut reader = BufReader::new(ZlibDecoder::new(file));
        let mut header = Vec::new();
        let read = Read::by_ref(&mut reader).take(HEADER as u64).read_until(0, &mut header);
        read.map_err(|error| self.broken(&error))?;
        Ok((self.size(&header, kind)?, reader))
    }

    /// Returns the length that the beginning of an object tells: its kind, the length and a NUL come before the bytes.
    fn size(&self, header: &[u8], kind: Kind) -> Result<u64, SourceError> {
        let told = header.strip_suffix(b"\0").and_then(|header| std::str::from_utf8(header).ok());
        told.and_then(|told| told.split_once(' '))
            .filter(|(told, _)| told.as_bytes() == kind.as_bytes())
            .and_then(|(_, size)| size.parse().ok())
            .ok_or_else(|| self.broken(&format!("the object {} is no {kind}", self.id)))
    }

    /// Reads an object of a pack, with small windows, so that git holds little of it as well.
    fn cat_file(&self, take: impl FnMut(&[u8]) -> io::Result<()>) -> Result<(), SourceError> {
        let mut git = git_at(&self.repository).map_err(|error| self.broken(&error))?;
        for setting in
            ["core.bigFileThreshold=1m", "core.packedGitWindowSize=1m", "core.packedGitLimit=8m"]
        {
            git.args(["-c", setting]);
        }
        // The object itself, whatever stands in for it here, and nothing from elsewhere.
        git.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_NO_LAZY_FETCH", "1");
        git.args(["cat-file", "blob", &self.id]);
        git.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = git.spawn().map_err(|error| self.broken(&error))?;
        let pumped = self.pump(child.stdout.take().expect("it is piped"), take);
        let status = child.wait().map_err(|error| self.broken(&error))?;
        pumped?;
        if status.success() {
            Ok(())
        } else {
            Err(self.broken(&format!("git cat-file ended with {status}")))
        }
    }

    fn pump(
        &self,
        from: impl Read,
        take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), SourceError> {
        pump(from, take).map_err(|error| self.broken(&error))
    }

    fn broken(&self, error: &dyn std::fmt::Display) -> SourceError {
        broken(&self.repository, error)
    }
}

/// Hands everything in `from` to `take`, piece by piece.
pub(crate) fn pump(
    mut from: impl Read,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(read) => take(&chunk[..read])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the hasher of a blob of `size` bytes, fed with what stands before them.
pub(crate) fn blob_hasher(size: u64) -> Sha1 {
    let mut sha = Sha1::new();
    sha.update(format!("blob {size}\0"));
    sha
}

/// Returns bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy in the cache may change at any time, also after it was checked: what comes of it is checked again.
    #[test]
    fn a_copy_that_changes_is_noticed_and_one_that_is_gone_is_not_needed() {
        let scratch = tempfile::tempdir().unwrap();
        let bytes = b"0123456789".repeat(200_000);
        let mut sha = blob_hasher(bytes.len() as u64);
        sha.update(&bytes);
        let repository = AbsPath::new(scratch.path()).unwrap();
        let loose = scratch.path().join("object");
        let mut packed = flate2::write::ZlibEncoder::new(
            fs::File::create(&loose).unwrap(),
            flate2::Compression::fast(),
        );
        let header = format!("blob {}\0", bytes.len());
        io::Write::write_all(&mut packed, header.as_bytes()).unwrap();
        io::Write::write_all(&mut packed, &bytes).unwrap();
        packed.finish().unwrap();
        let object = Object { repository: repository.clone(), id: hex(&sha.finalize()), loose };
        let copy = repository.join("copy");
        let large = Large { object, size: bytes.len() as u64, cached: Some(copy.clone()) };
        let read = || {
            let mut read = Vec::new();
            large.stream(|bytes| {
                read.extend_from_slice(bytes);
                Ok(())
            })?;
            Ok::<_, SourceError>(read)
        };
        assert_eq!(read().unwrap(), bytes, "without a copy");
        fs::write(copy.as_path(), &bytes).unwrap();
        assert_eq!(read().unwrap(), bytes, "with a good one");
        fs::write(copy.as_path(), "evil").unwrap();
        assert!(read().unwrap_err().to_string().contains("is damaged"));
    }
}
