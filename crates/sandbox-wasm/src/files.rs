//! Makes file metadata deterministic in runs with a seed: all files have the same times and one hard link, folders have
//! size 0, and inode numbers are assigned in the order in which the program sees the files.

use std::collections::HashMap;

use wasmtime::component::{Linker as ComponentLinker, Resource};
use wasmtime::{Caller, Extern, Linker, StoreContextMut};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView};
use wasmtime_wasi::p1::wasi_snapshot_preview1::{self as p1, WasiSnapshotPreview1 as _};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorStat, DescriptorType, ErrorCode, Host, HostDescriptor, MetadataHashValue, PathFlags,
};
use wiggle::GuestMemory;

use crate::link::PREVIEW_1;
use crate::run::{MAX_HOST_CALL_BYTES, State};
use crate::seeded::{START, nanoseconds};

/// The name of the file interface of WASI preview 2.
const PREVIEW_2_FILES: &str = "wasi:filesystem/types@0.2.12";

/// The inode numbers of a run, by the machine's inode numbers.
#[derive(Debug, Default)]
pub(crate) struct InodeNumbers(HashMap<u64, u64>);

impl InodeNumbers {
    /// Returns a file's inode number in this run.
    fn number(&mut self, inode: u64) -> u64 {
        let next = self.0.len() as u64 + 1;
        *self.0.entry(inode).or_insert(next)
    }
}

/// Offsets in the `filestat` structure of WASI preview 1.
const INODE: usize = 8;
const FILE_TYPE: usize = 16;
const LINKS: usize = 24;
const SIZE: usize = 32;
const TIMES: [usize; 3] = [40, 48, 56];
/// The file type of a folder.
const FOLDER: u8 = 3;
/// The size of the `dirent` structure, which the name follows, and the offset of the name's length. The inode number is
/// at the same offset as in `filestat`.
const ENTRY: usize = 24;
const NAME_LENGTH: usize = 16;

/// Replaces the functions of WASI preview 1 that return file metadata.
pub(crate) fn shadow_module(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    linker.func_wrap_async(
        PREVIEW_1,
        "fd_filestat_get",
        |mut caller: Caller<'_, State>, (fd, at): (i32, i32)| {
            Box::new(async move {
                let Some((memory, state)) = memory_and_state(&mut caller) else {
                    return no_memory();
                };
                let mut guest = GuestMemory::Unshared(memory);
                let errno = p1::fd_filestat_get(&mut state.wasi, &mut guest, fd, at).await?;
                fix_file(errno, memory, at, state.inodes.as_mut());
                Ok(errno)
            })
        },
    )?;
    linker.func_wrap_async(
        PREVIEW_1,
        "path_filestat_get",
        |mut caller: Caller<'_, State>,
         (fd, flags, path, length, at): (i32, i32, i32, i32, i32)| {
            Box::new(async move {
                let Some((memory, state)) = memory_and_state(&mut caller) else {
                    return no_memory();
                };
                let mut guest = GuestMemory::Unshared(memory);
                let wasi = &mut state.wasi;
                let errno =
                    p1::path_filestat_get(wasi, &mut guest, fd, flags, path, length, at).await?;
                fix_file(errno, memory, at, state.inodes.as_mut());
                Ok(errno)
            })
        },
    )?;
    linker.func_wrap_async(
        PREVIEW_1,
        "fd_readdir",
        |mut caller: Caller<'_, State>, (fd, at, length, from, used): (i32, i32, i32, i64, i32)| {
            Box::new(async move {
                let Some((memory, state)) = memory_and_state(&mut caller) else {
                    return no_memory();
                };
                let mut guest = GuestMemory::Unshared(memory);
                let wasi = &mut state.wasi;
                let errno = p1::fd_readdir(wasi, &mut guest, fd, at, length, from, used).await?;
                fix_entries(errno, memory, at, used, state.inodes.as_mut());
                Ok(errno)
            })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Returns a module's memory and the state of its run. Shared memories are not supported, so the module has exclusive
/// access to its memory.
fn memory_and_state<'a>(
    caller: &'a mut Caller<'_, State>,
) -> Option<(&'a mut [u8], &'a mut State)> {
    let Some(Extern::Memory(memory)) = caller.get_export("memory") else { return None };
    let (memory, state) = memory.data_and_store_mut(caller);
    // The functions that these replace set this limit as well.
    state.wasi.set_hostcall_fuel(MAX_HOST_CALL_BYTES);
    Some((memory, state))
}

fn no_memory<T>() -> wasmtime::Result<T> {
    Err(wasmtime::format_err!("it does not export a memory"))
}

/// Makes the metadata of a file deterministic, if the call succeeded.
fn fix_file(errno: i32, memory: &mut [u8], at: i32, inodes: Option<&mut InodeNumbers>) {
    let Some(inodes) = inodes.filter(|_| errno == 0) else { return };
    let at = at.cast_unsigned() as usize;
    change(memory, at + INODE, |inode| inodes.number(inode));
    change(memory, at + LINKS, |_| 1);
    if memory.get(at + FILE_TYPE) == Some(&FOLDER) {
        change(memory, at + SIZE, |_| 0);
    }
    for time in TIMES {
        change(memory, at + time, |_| nanoseconds(START));
    }
}

/// Makes a folder listing deterministic, if the call succeeded. The last entry may be cut off.
fn fix_entries(
    errno: i32,
    memory: &mut [u8],
    at: i32,
    used: i32,
    inodes: Option<&mut InodeNumbers>,
) {
    let Some(inodes) = inodes.filter(|_| errno == 0) else { return };
    let size = |memory: &[u8], at: usize| {
        let bytes = memory.get(at..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes) as usize)
    };
    let (mut at, used) = (at.cast_unsigned() as usize, used.cast_unsigned() as usize);
    let Some(end) = size(memory, used).map(|length| at + length) else { return };
    while at < end {
        // Clear an inode number that is cut off.
        if at + 2 * INODE > end {
            if let Some(rest) = memory.get_mut((at + INODE).min(end)..end) {
                rest.fill(0);
            }
            return;
        }
        change(memory, at + INODE, |inode| inodes.number(inode));
        let Some(name) = size(memory, at + NAME_LENGTH).filter(|_| at + ENTRY <= end) else {
            return;
        };
        at += ENTRY + name;
    }
}

fn change(memory: &mut [u8], at: usize, to: impl FnOnce(u64) -> u64) {
    if let Some(bytes) = memory.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<8>()) {
        *bytes = to(u64::from_le_bytes(*bytes)).to_le_bytes();
    }
}

/// Replaces the functions of WASI preview 2 that return file metadata.
pub(crate) fn shadow_component(linker: &mut ComponentLinker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut files = linker.instance(PREVIEW_2_FILES)?;
    files.func_wrap_async(
        "[method]descriptor.stat",
        |mut store: StoreContextMut<'_, State>, (file,): (Resource<Descriptor>,)| {
            Box::new(async move {
                let stat = store.data_mut().filesystem().stat(file).await;
                let stat = stat.map(|stat| fixed_stat(store.data_mut(), stat));
                convert_error(store.data_mut(), stat)
            })
        },
    )?;
    files.func_wrap_async(
        "[method]descriptor.stat-at",
        |mut store: StoreContextMut<'_, State>,
         (folder, flags, path): (Resource<Descriptor>, PathFlags, String)| {
            Box::new(async move {
                let stat = store.data_mut().filesystem().stat_at(folder, flags, path).await;
                let stat = stat.map(|stat| fixed_stat(store.data_mut(), stat));
                convert_error(store.data_mut(), stat)
            })
        },
    )?;
    files.func_wrap_async(
        "[method]descriptor.metadata-hash",
        |mut store: StoreContextMut<'_, State>, (file,): (Resource<Descriptor>,)| {
            Box::new(async move {
                let hash = store.data_mut().filesystem().metadata_hash(file).await;
                let hash = hash.map(|hash| fixed_hash(store.data_mut(), hash));
                convert_error(store.data_mut(), hash)
            })
        },
    )?;
    files.func_wrap_async(
        "[method]descriptor.metadata-hash-at",
        |mut store: StoreContextMut<'_, State>,
         (folder, flags, path): (Resource<Descriptor>, PathFlags, String)| {
            Box::new(async move {
                let mut view = store.data_mut().filesystem();
                let hash = view.metadata_hash_at(folder, flags, path).await;
                let hash = hash.map(|hash| fixed_hash(store.data_mut(), hash));
                convert_error(store.data_mut(), hash)
            })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Converts a result for the program.
fn convert_error<T>(
    state: &mut State,
    result: FsResult<T>,
) -> wasmtime::Result<(Result<T, ErrorCode>,)> {
    match result {
        Ok(value) => Ok((Ok(value),)),
        Err(error) => Ok((Err(state.filesystem().convert_error_code(error)?),)),
    }
}

fn fixed_stat(state: &State, stat: DescriptorStat) -> DescriptorStat {
    if state.inodes.is_none() {
        return stat;
    }
    let start = Some(Datetime { seconds: START.as_secs(), nanoseconds: 0 });
    DescriptorStat {
        link_count: 1,
        size: if stat.type_ == DescriptorType::Directory { 0 } else { stat.size },
        data_access_timestamp: start,
        data_modification_timestamp: start,
        status_change_timestamp: start,
        ..stat
    }
}

fn fixed_hash(state: &mut State, hash: MetadataHashValue) -> MetadataHashValue {
    match &mut state.inodes {
        Some(inodes) => MetadataHashValue { lower: inodes.number(hash.lower), upper: 0 },
        None => hash,
    }
}
