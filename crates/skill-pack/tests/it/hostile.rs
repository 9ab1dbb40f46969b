//! Malicious and malformed archives, made by hand.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use skill_pack::{PackError, read};

type Builder = tar::Builder<GzEncoder<Vec<u8>>>;

/// An entry of a ZIP file; every field can be wrong.
#[derive(Clone)]
struct Entry {
    name: Vec<u8>,
    /// The name in the header before the bytes.
    local: Option<Vec<u8>>,
    data: Vec<u8>,
    size: Option<u32>,
    crc: Option<u32>,
    method: u16,
    flags: u16,
    mode: u32,
    extra: Vec<u8>,
    offset: Option<u32>,
}

fn entry(name: &str, data: &[u8]) -> Entry {
    Entry {
        name: name.as_bytes().to_vec(),
        local: None,
        data: data.to_vec(),
        size: None,
        crc: None,
        method: 0,
        flags: 0,
        mode: 0o100_644,
        extra: Vec::new(),
        offset: None,
    }
}

fn zip(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut central = Vec::new();
    let p16 = |bytes: &mut Vec<u8>, values: &[u16]| {
        values.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
    };
    let p32 = |bytes: &mut Vec<u8>, values: &[u32]| {
        values.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
    };
    for entry in entries {
        let offset = entry.offset.unwrap_or(u32::try_from(bytes.len()).unwrap());
        let size = entry.size.unwrap_or(u32::try_from(entry.data.len()).unwrap());
        let packed = u32::try_from(entry.data.len()).unwrap();
        let crc = entry.crc.unwrap_or_else(|| crc32fast::hash(&entry.data));
        let local = entry.local.as_ref().unwrap_or(&entry.name);
        bytes.extend(b"PK\x03\x04");
        p16(&mut bytes, &[20, entry.flags, entry.method, 0, 33]);
        p32(&mut bytes, &[crc, packed, size]);
        p16(&mut bytes, &[u16::try_from(local.len()).unwrap(), 0]);
        bytes.extend(local);
        bytes.extend(&entry.data);
        central.extend(b"PK\x01\x02");
        p16(&mut central, &[(3 << 8) | 20, 20, entry.flags, entry.method, 0, 33]);
        p32(&mut central, &[crc, packed, size]);
        p16(
            &mut central,
            &[
                u16::try_from(entry.name.len()).unwrap(),
                u16::try_from(entry.extra.len()).unwrap(),
                0,
                0,
                0,
            ],
        );
        p32(&mut central, &[entry.mode << 16, offset]);
        central.extend(&entry.name);
        central.extend(&entry.extra);
    }
    let (start, size) =
        (u32::try_from(bytes.len()).unwrap(), u32::try_from(central.len()).unwrap());
    bytes.extend(central);
    bytes.extend(b"PK\x05\x06");
    let count = u16::try_from(entries.len()).unwrap();
    p16(&mut bytes, &[0, 0, count, count]);
    p32(&mut bytes, &[size, start]);
    p16(&mut bytes, &[0]);
    bytes
}

fn deflated(data: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

const TEXT: &[u8] = b"---\nname: pdf\ndescription: d\n---\nBody.\n";

fn skill() -> Entry {
    entry("pdf/SKILL.md", TEXT)
}

#[test]
fn a_valid_archive_is_accepted() {
    let package = read(&zip(&[skill(), entry("pdf/a", b"x")])).unwrap();
    assert_eq!(package.files.len(), 2);
}

#[test]
fn unsafe_names_are_refused() {
    for name in [
        "../evil",
        "pdf/../../evil",
        "/etc/cron.d/evil",
        "pdf/..",
        "..\\evil",
        "pdf\\evil",
        "C:\\evil",
        "C:evil",
        "//server/share",
        "pdf//x",
        "./pdf/x",
        "pdf/skill.md",
        "PDF/x",
        "pdf/SKILL.md/x",
        "other/x",
        "x",
        "pdf/a\nb",
        "pdf/con",
        "pdf/x ",
        "__MACOSX/x",
        "",
        "/",
        ".",
        "..",
        "pdf/a\0b",
        "pdf/~/\u{1b}[2J",
    ] {
        assert!(read(&zip(&[skill(), entry(name, b"x")])).is_err(), "{name:?}");
    }
    let bytes = Entry { name: b"pdf/\xff\xfe".to_vec(), ..entry("x", b"x") };
    assert!(read(&zip(&[skill(), bytes])).is_err());
}

#[test]
fn entries_other_than_files_and_folders_are_refused() {
    for (mode, kind) in [
        (0o120_777, "a symlink"),
        (0o020_644, "a device"),
        (0o060_644, "a device"),
        (0o010_644, "a FIFO"),
        (0o140_644, "a socket"),
    ] {
        let error =
            read(&zip(&[skill(), Entry { mode, ..entry("pdf/x", b"/etc/passwd") }])).unwrap_err();
        assert!(matches!(&error, PackError::Kind { kind: found, .. } if *found == kind), "{error}");
    }
    let folder = Entry { mode: 0o040_755, ..entry("pdf/x", b"bytes") };
    assert!(read(&zip(&[skill(), folder])).is_err());
    assert!(
        read(&zip(&[skill(), Entry { mode: 0o040_755, ..entry("pdf/x/", b"bytes") }])).is_err()
    );
    // Nor may SKILL.md be a symlink.
    assert!(read(&zip(&[Entry { mode: 0o120_777, ..skill() }])).is_err());
}

#[test]
fn bombs_are_refused_before_they_are_unpacked() {
    let zeros = vec![0; 32 << 20];
    let bomb = Entry {
        data: deflated(&zeros),
        size: Some(32 << 20),
        crc: Some(crc32fast::hash(&zeros)),
        method: 8,
        ..entry("pdf/bomb", b"")
    };
    assert!(matches!(read(&zip(&[skill(), bomb.clone()])), Err(PackError::Bomb { .. })));
    // A bomb that declares a small size.
    let liar = Entry { size: Some(10), ..bomb };
    assert!(matches!(read(&zip(&[skill(), liar])), Err(PackError::Malformed(_))));
    // Many small bombs.
    let zeros = vec![0; 1_000_000];
    let small = Entry {
        data: deflated(&zeros),
        size: Some(1_000_000),
        crc: Some(crc32fast::hash(&zeros)),
        method: 8,
        ..entry("pdf/x", b"")
    };
    let many: Vec<Entry> = (0..60)
        .map(|number| Entry { name: format!("pdf/z{number}").into_bytes(), ..small.clone() })
        .collect();
    assert!(matches!(
        read(&zip(&[&[skill()], many.as_slice()].concat())),
        Err(PackError::Bomb { .. })
    ));
    // An archive that is too large, with an ordinary compression ratio.
    let large: Vec<Entry> =
        (0..6).map(|number| entry(&format!("pdf/{number}"), &vec![7; 12 << 20])).collect();
    assert!(read(&zip(&[&[skill()], large.as_slice()].concat())).is_err());
    let many: Vec<Entry> = (0..10_001).map(|number| entry(&format!("pdf/{number}"), b"")).collect();
    assert!(matches!(read(&zip(&many)), Err(PackError::Limit { .. })));
    // The same as a tarball.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&vec![0; 64 << 20]).unwrap();
    assert!(matches!(read(&gzip.finish().unwrap()), Err(PackError::Bomb { .. })));
}

#[test]
fn ambiguous_zip_files_are_refused() {
    let good = zip(&[skill(), entry("pdf/a", b"x")]);
    let twice = zip(&[skill(), entry("pdf/SKILL.md", b"other")]);
    let renamed = zip(&[Entry { local: Some(b"pdf/OTHER.md".to_vec()), ..skill() }]);
    let shared = zip(&[skill(), Entry { offset: Some(0), ..entry("pdf/b", TEXT) }]);
    let checksum = zip(&[Entry { crc: Some(1), ..skill() }]);
    let longer = zip(&[Entry { size: Some(3), ..skill() }]);
    let secret = zip(&[Entry { flags: 1, ..skill() }]);
    let method = zip(&[Entry { method: 12, ..skill() }]);
    let tail = Entry {
        data: [deflated(b"x"), b"more".to_vec()].concat(),
        size: Some(1),
        crc: Some(crc32fast::hash(b"x")),
        method: 8,
        ..entry("pdf/t", b"")
    };
    let mut unicode = vec![0x75, 0x70, 10, 0, 1, 0, 0, 0, 0];
    unicode.extend(b"other");
    let named_twice = zip(&[skill(), Entry { extra: unicode, ..entry("pdf/a", b"x") }]);
    // An entry that the directory does not list.
    let hidden = zip(&[entry("pdf/evil.sh", b"x"), skill()]);
    let listed = hidden.windows(4).position(|found| found == b"PK\x01\x02").unwrap();
    let mut unlisted = hidden[..listed].to_vec();
    let central = &hidden[listed..];
    let second = 46 + "pdf/evil.sh".len();
    let end = central.len() - 22;
    unlisted.extend(&central[second..end]);
    let size = u32::try_from(end - second).unwrap();
    let mut last = central[end..].to_vec();
    last[8..12].copy_from_slice(&[1, 0, 1, 0]);
    last[12..16].copy_from_slice(&size.to_le_bytes());
    unlisted.extend(last);
    let before = [b"MZ fake program".to_vec(), good.clone()].concat();
    let after = [good.clone(), b"tail".to_vec()].concat();
    let both = [good.clone(), good.clone()].concat();
    let cut = good[..good.len() - 5].to_vec();
    for (bytes, what) in [
        (twice, "a duplicate name"),
        (renamed, "another name in the local header"),
        (shared, "entries that overlap"),
        (checksum, "a wrong checksum"),
        (longer, "a wrong size"),
        (secret, "encryption"),
        (method, "another compression method"),
        (zip(&[skill(), tail]), "data after the end of an entry"),
        (zip(&[Entry { flags: 8, ..skill() }]), "a size after content that is not compressed"),
        (
            zip(&[Entry {
                flags: 8,
                method: 8,
                data: deflated(TEXT),
                size: Some(TEXT.len() as u32),
                crc: Some(crc32fast::hash(TEXT)),
                ..skill()
            }]),
            "a missing data descriptor",
        ),
        (named_twice, "two names"),
        (unlisted, "an entry that is not listed"),
        (before, "data before the archive"),
        (after, "data after the archive"),
        (both, "two archives"),
        (cut, "a truncated archive"),
        (Vec::new(), "nothing"),
        (b"PK\x05\x06".to_vec(), "only a directory"),
        (zip(&[]), "no entries"),
        (zip(&[entry("pdf/", b"")]), "only a folder"),
        (zip(&[entry("SKILL.md", TEXT)]), "no folder"),
        (zip(&[entry("pdf/x", b"x")]), "no SKILL.md"),
        (b"#!/bin/sh\n".to_vec(), "a script"),
    ] {
        assert!(read(&bytes).is_err(), "{what}");
    }
}

#[test]
fn the_same_rules_apply_to_tarballs() {
    let tarball = |add: &dyn Fn(&mut Builder)| {
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        file(&mut builder, b"pdf/SKILL.md", tar::EntryType::Regular, TEXT);
        add(&mut builder);
        builder.into_inner().unwrap().finish().unwrap()
    };
    assert!(read(&tarball(&|_| {})).is_ok());
    let twice = [tarball(&|_| {}), tarball(&|_| {})].concat();
    assert!(read(&twice).is_err(), "a second gzip member");
    assert!(
        read(&[tarball(&|_| {}), b"junk".to_vec()].concat()).is_err(),
        "junk after the archive"
    );
    assert!(read(&tarball(&|tar| file(tar, b"pdf/a", tar::EntryType::Regular, b"x"))).is_ok());
    for (name, kind) in [
        (&b"../evil"[..], tar::EntryType::Regular),
        (b"/etc/evil", tar::EntryType::Regular),
        (b"pdf/SKILL.md", tar::EntryType::Regular),
        (b"pdf/skill.md", tar::EntryType::Regular),
        (b"other/x", tar::EntryType::Regular),
        (b"pdf/\xff", tar::EntryType::Regular),
        (b"pdf/x", tar::EntryType::Symlink),
        (b"pdf/x", tar::EntryType::Link),
        (b"pdf/x", tar::EntryType::Char),
        (b"pdf/x", tar::EntryType::Block),
        (b"pdf/x", tar::EntryType::Fifo),
        (b"pdf/x", tar::EntryType::GNUSparse),
    ] {
        assert!(read(&tarball(&|tar| file(tar, name, kind, b"x"))).is_err(), "{name:?} {kind:?}");
    }
    // `tar` often puts `./` before every name; duplicates are refused all the same.
    assert!(read(&tarball(&|tar| file(tar, b"./pdf/a", tar::EntryType::Regular, b"x"))).is_ok());
    let twice = tarball(&|tar| file(tar, b"./pdf/SKILL.md", tar::EntryType::Regular, b"x"));
    assert!(read(&twice).is_err(), "the same file under two names");
}

#[test]
fn ambiguous_tarballs_are_refused() {
    let packed = |parts: &[&[u8]]| {
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        parts.iter().for_each(|part| gz.write_all(part).unwrap());
        gz.finish().unwrap()
    };
    let raw = |add: &dyn Fn(&mut tar::Builder<Vec<u8>>)| {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(TEXT.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, "pdf/SKILL.md", TEXT).unwrap();
        add(&mut builder);
        builder.into_inner().unwrap()
    };
    let plain = raw(&|_| {});
    assert!(read(&packed(&[&plain])).is_ok());
    assert!(read(&packed(&[&plain, &[0; 4096]])).is_ok(), "zeros at the end are common");
    assert!(read(&packed(&[&plain, b"hidden"])).is_err(), "data after the end");
    assert!(read(&packed(&[&plain, &plain])).is_err(), "a second tarball after the end");
    let add = |tar: &mut tar::Builder<Vec<u8>>, kind, name: &str, data: &[u8]| {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(kind);
        header.set_size(data.len() as u64);
        header.set_mode(0o755);
        tar.append_data(&mut header, name, data).unwrap();
    };
    use tar::EntryType::{Directory, Regular, XGlobalHeader, XHeader};
    let with = |extras: &[(tar::EntryType, &str, &[u8])]| {
        let bytes =
            raw(&|tar| extras.iter().for_each(|(kind, name, data)| add(tar, *kind, name, data)));
        read(&packed(&[&bytes]))
    };
    assert!(with(&[(Directory, "pdf/d/", b"")]).is_ok());
    assert!(with(&[(Directory, "pdf/d/", b"bytes")]).is_err(), "a folder with content");
    assert!(with(&[(XGlobalHeader, "g", b"16 comment=abcd\n")]).is_ok(), "as git writes it");
    assert!(with(&[(XGlobalHeader, "g", b"15 path=pdf/xx\n"), (Regular, "pdf/a", b"x")]).is_err());
    let sparse = b"31 GNU.sparse.name=pdf/SKILL.md\n";
    assert!(
        with(&[(XHeader, "x", &sparse[..]), (Regular, "pdf/a", b"x")]).is_err(),
        "another name"
    );
    // Readers differ in which of two headers they use, so an entry could be hidden after them.
    use tar::EntryType::GNULongName;
    let plain = |size: &[u8]| with(&[(XHeader, "x", size), (Regular, "pdf/a", b"x")]);
    assert!(plain(b"9 size=1\n").is_ok(), "the same size as the entry");
    assert!(plain(b"9 size=0\n").is_err(), "another size");
    assert!(plain(b"10 size=-1\n").is_err(), "a negative size");
    assert!(plain(b"9 size=1\n9 size=1\n").is_err(), "a duplicate size");
    assert!(plain(b"14 path=pdf/b\n14 path=pdf/c\n").is_err(), "two names");
    assert!(plain(b"99 path=pdf/b\n").is_err(), "a record that is longer than the header");
    let two = [
        (XHeader, "x", &b"14 path=pdf/b\n"[..]),
        (GNULongName, "l", b"pdf/c"),
        (Regular, "pdf/a", b"x"),
    ];
    assert!(with(&two).is_err(), "two kinds of extended headers for one entry");
    // Whether the prefix of a name counts depends on the format, which these headers leave unclear.
    for magic in [&b"ustar\x0001"[..], b"ustar\0XX", b"\0\0\0\0\0\0\0\0", b"ustar  \0"] {
        let mut bytes = raw(&|_| {});
        bytes[257..265].copy_from_slice(magic);
        bytes[345..346].copy_from_slice(b"q");
        let sum: u32 = (0..512)
            .map(|index| if (148..156).contains(&index) { 32 } else { u32::from(bytes[index]) })
            .sum();
        bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        assert!(read(&packed(&[&bytes])).is_err(), "{magic:?}");
    }
    let whole = raw(&|_| {});
    let cut = &whole[..1024];
    assert!(read(&packed(&[cut])).is_err(), "a missing end");
}

fn file(tar: &mut Builder, name: &[u8], kind: tar::EntryType, data: &[u8]) {
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_size(data.len() as u64);
    header.set_mode(0o644);
    if matches!(kind, tar::EntryType::Symlink | tar::EntryType::Link) {
        header.set_link_name("/etc/passwd").unwrap();
    }
    header.set_cksum();
    tar.append(&header, data).unwrap();
}
