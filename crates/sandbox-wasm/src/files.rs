//! What files say of themselves beside their content, fixed where there is a seed: every file has the same time and one name, a folder has no
//! size, and each is numbered in the order in which the program met it.

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

use crate::fixed::{BEGIN, nanoseconds};
use crate::link::P1;
use crate::run::{HOST_CALL, State};

/// What WASI's second preview calls its interface to files.
const P2: &str = "wasi:filesystem/types@0.2.12";

/// The files that a run has met, by the number that the machine has for them.
#[derive(Debug, Default)]
pub(crate) struct Files(HashMap<u64, u64>);

impl Files {
    /// Returns a file's number in this run.
    fn number(&mut self, known_as: u64) -> u64 {
        let next = self.0.len() as u64 + 1;
        *self.0.entry(known_as).or_insert(next)
    }
}

/// Where a file's number, kind, links, size and times stand in what WASI's first preview says of it.
const NUMBER: usize = 8;
const KIND: usize = 16;
const LINKS: usize = 24;
const SIZE: usize = 32;
const TIMES: [usize; 3] = [40, 48, 56];
/// The kind of a folder.
const FOLDER: u8 = 3;
/// The head of an entry in a list of files, where its number stands in it, and the length of its name.
const ENTRY: usize = 24;
const NAME_LENGTH: usize = 16;

/// Puts functions over those of WASI's first preview that tell of files.
pub(crate) fn shadow_module(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    linker.func_wrap_async(
        P1,
        "fd_filestat_get",
        |mut caller: Caller<'_, State>, (fd, at): (i32, i32)| {
            Box::new(async move {
                let Some((memory, state)) = inside(&mut caller) else { return no_memory() };
                let mut guest = GuestMemory::Unshared(memory);
                let told = p1::fd_filestat_get(&mut state.wasi, &mut guest, fd, at).await?;
                fix_file(told, memory, at, state.files.as_mut());
                Ok(told)
            })
        },
    )?;
    linker.func_wrap_async(
        P1,
        "path_filestat_get",
        |mut caller: Caller<'_, State>,
         (fd, flags, path, length, at): (i32, i32, i32, i32, i32)| {
            Box::new(async move {
                let Some((memory, state)) = inside(&mut caller) else { return no_memory() };
                let mut guest = GuestMemory::Unshared(memory);
                let wasi = &mut state.wasi;
                let told =
                    p1::path_filestat_get(wasi, &mut guest, fd, flags, path, length, at).await?;
                fix_file(told, memory, at, state.files.as_mut());
                Ok(told)
            })
        },
    )?;
    linker.func_wrap_async(
        P1,
        "fd_readdir",
        |mut caller: Caller<'_, State>, (fd, at, length, from, used): (i32, i32, i32, i64, i32)| {
            Box::new(async move {
                let Some((memory, state)) = inside(&mut caller) else { return no_memory() };
                let mut guest = GuestMemory::Unshared(memory);
                let wasi = &mut state.wasi;
                let told = p1::fd_readdir(wasi, &mut guest, fd, at, length, from, used).await?;
                fix_entries(told, memory, at, used, state.files.as_mut());
                Ok(told)
            })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Returns a module's memory, and what is kept for it. Shared memories are not taken, so it has one of its own.
fn inside<'a>(caller: &'a mut Caller<'_, State>) -> Option<(&'a mut [u8], &'a mut State)> {
    let Some(Extern::Memory(memory)) = caller.get_export("memory") else { return None };
    let (memory, state) = memory.data_and_store_mut(caller);
    // What a call may copy from the program; the functions that these stand over set it as well.
    state.wasi.set_hostcall_fuel(HOST_CALL);
    Some((memory, state))
}

fn no_memory<T>() -> wasmtime::Result<T> {
    Err(wasmtime::format_err!("it has no memory of its own"))
}

/// Fixes what was told of a file.
fn fix_file(told: i32, memory: &mut [u8], at: i32, files: Option<&mut Files>) {
    let Some(files) = files.filter(|_| told == 0) else { return };
    let at = at.cast_unsigned() as usize;
    change(memory, at + NUMBER, |known_as| files.number(known_as));
    change(memory, at + LINKS, |_| 1);
    if memory.get(at + KIND) == Some(&FOLDER) {
        change(memory, at + SIZE, |_| 0);
    }
    for time in TIMES {
        change(memory, at + time, |_| nanoseconds(BEGIN));
    }
}

/// Fixes a list of files, the last of which may be cut off.
fn fix_entries(told: i32, memory: &mut [u8], at: i32, used: i32, files: Option<&mut Files>) {
    let Some(files) = files.filter(|_| told == 0) else { return };
    let size = |memory: &[u8], at: usize| {
        let bytes = memory.get(at..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes) as usize)
    };
    let (mut at, used) = (at.cast_unsigned() as usize, used.cast_unsigned() as usize);
    let Some(end) = size(memory, used).map(|length| at + length) else { return };
    while at < end {
        // A number that is cut off is not told at all.
        if at + 2 * NUMBER > end {
            if let Some(rest) = memory.get_mut((at + NUMBER).min(end)..end) {
                rest.fill(0);
            }
            return;
        }
        change(memory, at + NUMBER, |known_as| files.number(known_as));
        let Some(name) = size(memory, at + NAME_LENGTH).filter(|_| at + ENTRY <= end) else {
            return;
        };
        at += ENTRY + name;
    }
}

fn change(memory: &mut [u8], at: usize, to: impl FnOnce(u64) -> u64) {
    if let Some(place) = memory.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<8>()) {
        *place = to(u64::from_le_bytes(*place)).to_le_bytes();
    }
}

/// Puts functions over those of WASI's second preview that tell of files.
pub(crate) fn shadow_component(linker: &mut ComponentLinker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut files = linker.instance(P2)?;
    files.func_wrap_async(
        "[method]descriptor.stat",
        |mut store: StoreContextMut<'_, State>, (file,): (Resource<Descriptor>,)| {
            Box::new(async move {
                let stat = store.data_mut().filesystem().stat(file).await;
                let stat = stat.map(|stat| fixed_stat(store.data_mut(), stat));
                answer(store.data_mut(), stat)
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
                answer(store.data_mut(), stat)
            })
        },
    )?;
    files.func_wrap_async(
        "[method]descriptor.metadata-hash",
        |mut store: StoreContextMut<'_, State>, (file,): (Resource<Descriptor>,)| {
            Box::new(async move {
                let hash = store.data_mut().filesystem().metadata_hash(file).await;
                let hash = hash.map(|hash| fixed_hash(store.data_mut(), hash));
                answer(store.data_mut(), hash)
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
                answer(store.data_mut(), hash)
            })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

fn answer<T>(state: &mut State, told: FsResult<T>) -> wasmtime::Result<(Result<T, ErrorCode>,)> {
    match told {
        Ok(told) => Ok((Ok(told),)),
        Err(error) => Ok((Err(state.filesystem().convert_error_code(error)?),)),
    }
}

fn fixed_stat(state: &State, stat: DescriptorStat) -> DescriptorStat {
    if state.files.is_none() {
        return stat;
    }
    let begin = Some(Datetime { seconds: BEGIN.as_secs(), nanoseconds: 0 });
    DescriptorStat {
        link_count: 1,
        size: if stat.type_ == DescriptorType::Directory { 0 } else { stat.size },
        data_access_timestamp: begin,
        data_modification_timestamp: begin,
        status_change_timestamp: begin,
        ..stat
    }
}

fn fixed_hash(state: &mut State, hash: MetadataHashValue) -> MetadataHashValue {
    match &mut state.files {
        Some(files) => MetadataHashValue { lower: files.number(hash.lower), upper: 0 },
        None => hash,
    }
}
