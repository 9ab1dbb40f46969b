//! Packed skills are read back unchanged, other programs can read them, and archives by other programs can be read.

use proptest::prelude::*;
use skill::RelPath;
use skill_fs::AbsPath;
use skill_pack::{Package, PackedFile, read, zip};
use testkit::TestEnv;

const SKILL: &str = "\
//- /pdf/SKILL.md
---
name: pdf
description: d
---
Body.
//- /pdf/scripts/a.sh
echo a
//- /pdf/references/ä b.md
Text.
";

fn packed(env: &TestEnv) -> Package {
    Package::of_folder(&AbsPath::new(env.path("pdf")).unwrap()).unwrap()
}

fn env() -> TestEnv {
    let env = TestEnv::with(SKILL);
    assert_eq!(env.run("chmod", "755 pdf/scripts/a.sh").code, Some(0));
    env
}

#[test]
fn packing_is_lossless_and_reproducible() {
    let env = env();
    let package = packed(&env);
    assert_eq!(package.files.len(), 3);
    assert!(package.file("scripts/a.sh").unwrap().executable);
    let bytes = zip(&package).unwrap();
    assert_eq!(read(&bytes).unwrap(), package);
    env.run("touch", "-d 2001-01-01 pdf/SKILL.md pdf");
    assert_eq!(zip(&packed(&env)).unwrap(), bytes);
    let to = env.path("unpacked");
    package.unpack(&to).unwrap();
    assert_eq!(Package::of_folder(&AbsPath::new(to).unwrap()).unwrap().files, package.files);
    assert!(package.unpack(&env.path("unpacked")).is_err());
}

#[test]
fn archives_are_interoperable_with_other_programs() {
    let env = env();
    let package = packed(&env);
    env.write("ours.zip", &zip(&package).unwrap());
    let script = "import zipfile, sys; z = zipfile.ZipFile('ours.zip'); assert z.testzip() is None; z.extractall('out'); print(len(z.namelist()))";
    assert_eq!(env.run_args("python3", &["-c", script]).stdout, "4\n");
    assert_eq!(env.run("diff", "-r pdf out/pdf").code, Some(0));
    // Made by Python, with sizes before and after the content, and by tar.
    let pack = "import zipfile, os\nfor name, out in (('a.zip', None), ('b.zip', 1)):\n  f = open(name, 'wb')\n  if out:\n    f.seekable = None\n    class W:\n      def write(self, b): return f.write(b)\n      def flush(self): f.flush()\n    z = zipfile.ZipFile(W(), 'w', zipfile.ZIP_DEFLATED)\n  else:\n    z = zipfile.ZipFile(f, 'w', zipfile.ZIP_DEFLATED)\n  for d, _, fs in sorted(os.walk('pdf')):\n    for x in sorted(fs): z.write(os.path.join(d, x))\n  z.close(); f.close()\n";
    let made = env.run_args("python3", &["-c", pack]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(env.run("tar", "-czf c.tar.gz pdf").code, Some(0));
    for name in ["a.zip", "b.zip", "c.tar.gz"] {
        let read = read(&std::fs::read(env.path(name)).unwrap());
        assert_eq!(read.unwrap(), package, "{name}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for start in [&b""[..], b"PK\x03\x04", b"\x1f\x8b\x08\0"] {
            let _ = read(&[start, &bytes].concat());
        }
    }

    #[test]
    fn an_archive_with_one_changed_byte_is_the_same_or_refused(at in 0_usize..600, byte in any::<u8>()) {
        let file = |path: &str, bytes: &[u8]| PackedFile { path: RelPath::new(path).unwrap(), executable: false, bytes: bytes.to_vec() };
        let package = Package { name: "pdf".to_owned(), files: vec![file("SKILL.md", b"text text text text text text"), file("a/b", b"x")] };
        let mut bytes = zip(&package).unwrap();
        let at = at % bytes.len();
        let was = bytes[at];
        bytes[at] = byte;
        if let Ok(read) = read(&bytes) {
            // Times and attributes that are not used may change; names and content may not.
            let plain = |package: &Package| package.files.iter().map(|file| (file.path.clone(), file.bytes.clone())).collect::<Vec<_>>();
            prop_assert_eq!(plain(&read), plain(&package), "{} was {}", at, was);
        }
    }
}
