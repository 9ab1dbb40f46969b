//! Streams a large file from git's object store in chunks, so that memory use stays flat.

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

/// The chunk size.
const CHUNK: usize = 256 << 10;

/// The most bytes before an object's content: its type, a length of up to twenty digits and a NUL.
const HEADER: usize = 64;

/// A blob in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// The repository that contains it.
    pub(crate) repository: AbsPath,
    /// The blob's id.
    pub(crate) id: String,
    /// The path of the loose object file; it does not exist if the object is in a pack.
    pub(crate) loose: PathBuf,
}

/// A file that is too large for memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargeFile {
    /// The blob in git's object store.
    pub(crate) object: Object,
    /// The size in bytes.
    pub(crate) size: u64,
    /// A cached copy, which is faster to read. It may change or vanish at any time.
    pub(crate) cached: Option<AbsPath>,
}

impl LargeFile {
    /// Passes all bytes to `take` and checks that they match the blob's id.
    pub(crate) fn stream(
        &self,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), SourceError> {
        let mut sha = blob_hasher(self.size);
        let mut unwritten = None;
        let hand_on = |bytes: &[u8]| {
            sha.update(bytes);
            // Recorded to tell write errors from read errors.
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
            let what = format!("object {} or its cached copy is corrupt", self.object.id);
            Err(self.object.broken(&what))
        }
    }
}

/// The content of a loose object.
pub(crate) enum LooseObject {
    /// The whole content.
    Small(Arc<[u8]>),
    /// The size of a content that is too large for memory.
    Large(u64),
}

impl Object {
    /// Reads a loose object: one open gives both its size and its content. Returns `None` if the object is in a pack.
    pub(crate) fn loose(
        &self,
        kind: Kind,
        zlib: &mut Decompress,
    ) -> Result<Option<LooseObject>, SourceError> {
        // Checked first: opening anything but a regular file may block.
        let found = fs::metadata(&self.loose).ok().filter(fs::Metadata::is_file);
        let Some(packed) = found.map(|found| found.len()) else { return Ok(None) };
        let mut file = fs::File::open(&self.loose).map_err(|error| self.broken(&error))?;
        if packed > LARGE {
            return Ok(Some(LooseObject::Large(self.header(file, kind)?.0)));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(packed).unwrap_or(0) + 1);
        file.read_to_end(&mut bytes).map_err(|error| self.broken(&error))?;
        let damaged = || self.broken(&format!("object {} is corrupt", self.id));
        zlib.reset(true);
        let mut whole = Vec::with_capacity(HEADER);
        zlib.decompress_vec(&bytes, &mut whole, FlushDecompress::None).map_err(|_| damaged())?;
        let end = whole.iter().position(|byte| *byte == 0).ok_or_else(damaged)? + 1;
        let size = self.size(&whole[..end], kind)?;
        if size > LARGE {
            return Ok(Some(LooseObject::Large(size)));
        }
        // Room for one byte too many, to detect trailing data.
        let all = end + usize::try_from(size).unwrap_or(0);
        whole.reserve_exact((all + 1).saturating_sub(whole.len()));
        let rest = usize::try_from(zlib.total_in()).unwrap_or(bytes.len());
        zlib.decompress_vec(&bytes[rest..], &mut whole, FlushDecompress::Finish)
            .map_err(|_| damaged())?;
        if whole.len() != all {
            return Err(damaged());
        }
        Ok(Some(LooseObject::Small(whole[end..].into())))
    }

    /// Reads an object's header; returns the size and a reader for the content.
    fn header(&self, file: fs::File, kind: Kind) -> Result<(u64, impl Read), SourceError> {
        let mut reader = BufReader::new(ZlibDecoder::new(file));
        let mut header = Vec::new();
        let read = Read::by_ref(&mut reader).take(HEADER as u64).read_until(0, &mut header);
        read.map_err(|error| self.broken(&error))?;
        Ok((self.size(&header, kind)?, reader))
    }

    /// Returns the size in an object's header, which consists of type, size and NUL.
    fn size(&self, header: &[u8], kind: Kind) -> Result<u64, SourceError> {
        let header = header.strip_suffix(b"\0").and_then(|header| std::str::from_utf8(header).ok());
        header
            .and_then(|header| header.split_once(' '))
            .filter(|(header, _)| header.as_bytes() == kind.as_bytes())
            .and_then(|(_, size)| size.parse().ok())
            .ok_or_else(|| self.broken(&format!("object {} is not a {kind}", self.id)))
    }

    /// Reads a packed object with `git cat-file`, using small windows so that git's memory use stays low as well.
    fn cat_file(&self, take: impl FnMut(&[u8]) -> io::Result<()>) -> Result<(), SourceError> {
        let mut git = git_at(&self.repository).map_err(|error| self.broken(&error))?;
        for setting in
            ["core.bigFileThreshold=1m", "core.packedGitWindowSize=1m", "core.packedGitLimit=8m"]
        {
            git.args(["-c", setting]);
        }
        // The object itself: no replacement, and no fetch from elsewhere.
        git.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_NO_LAZY_FETCH", "1");
        git.args(["cat-file", "blob", &self.id]);
        git.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = git.spawn().map_err(|error| self.broken(&error))?;
        let pumped = self.pump(child.stdout.take().expect("stdout is piped"), take);
        let status = child.wait().map_err(|error| self.broken(&error))?;
        pumped?;
        if status.success() {
            Ok(())
        } else {
            Err(self.broken(&format!("git cat-file failed: {status}")))
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

/// Passes everything in `from` to `take`, in chunks.
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

/// Returns a hasher for a blob of `size` bytes, already fed with the object header.
pub(crate) fn blob_hasher(size: u64) -> Sha1 {
    let mut sha = Sha1::new();
    sha.update(format!("blob {size}\0"));
    sha
}

/// Encodes bytes as lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cached copy may change even after it was checked, so its content is verified on every read.
    #[test]
    fn a_changed_copy_is_detected_and_a_missing_one_is_not_needed() {
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
        let large = LargeFile { object, size: bytes.len() as u64, cached: Some(copy.clone()) };
        let read = || {
            let mut read = Vec::new();
            large.stream(|bytes| {
                read.extend_from_slice(bytes);
                Ok(())
            })?;
            Ok::<_, SourceError>(read)
        };
        assert_eq!(read().unwrap(), bytes, "no copy");
        fs::write(copy.as_path(), &bytes).unwrap();
        assert_eq!(read().unwrap(), bytes, "valid copy");
        fs::write(copy.as_path(), "evil").unwrap();
        assert!(read().unwrap_err().to_string().contains("is corrupt"));
    }
}
