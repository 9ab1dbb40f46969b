use super::*;

#[test]
fn secrets_are_recognized_by_format_or_name() {
    for (text, expected) in [
        ("git status", "git status"),
        ("curl -H 'Authorization: Bearer abc.def' x", "curl -H 'Authorization: [redacted]' x"),
        ("curl -H 'Authorization: Token X1' x", "curl -H 'Authorization: [redacted]' x"),
        ("curl -H 'Cookie: a=b; session=X' x", "curl -H 'Cookie: [redacted]' x"),
        ("TOKEN=abc make", "TOKEN=[redacted] make"),
        ("PASSWORD=p@S3cr3t make", "PASSWORD=[redacted] make"),
        ("PASSWORD=ab!X make", "PASSWORD=[redacted] make"),
        ("AWS_SECRET_ACCESS_KEY=abc/d+e make", "AWS_SECRET_ACCESS_KEY=[redacted] make"),
        ("DB_PASS=x MYSQL_PWD=y a", "DB_PASS=[redacted] MYSQL_PWD=[redacted] a"),
        ("x --password hunter2 y", "x --password [redacted] y"),
        ("x --password 'two words' y", "x --password '[redacted]' y"),
        ("x --password=hunter2 y", "x --password=[redacted] y"),
        ("x --pass 1234 y", "x --pass [redacted] y"),
        (r#"{"api_key": "abc d", "b": 1}"#, r#"{"api_key": "[redacted]", "b": 1}"#),
        (r#"{"max_tokens": 1000}"#, r#"{"max_tokens": 1000}"#),
        ("git clone https://me:p#w@host/x", "git clone https://me:[redacted]@host/x"),
        (
            "git clone https://ghp_0123456789abcdefghij@host/x",
            "git clone https://[redacted]@host/x",
        ),
        ("echo ghp_0123456789abcdefghij!", "echo [redacted]!"),
        ("cat /x/ghp_0123456789abcdefghij", "cat /x/[redacted]"),
        ("mysql -pghp_0123456789abcdefghij", "mysql -p[redacted]"),
        ("mysql -u me -pS3cret db", "mysql -u me -p[redacted] db"),
        ("curl -u me:S3cret x", "curl -u me:[redacted] x"),
        ("sshpass -p S3cret ssh h", "sshpass -p [redacted] ssh h"),
        (
            "aws configure set aws_secret_access_key X1",
            "aws configure set aws_secret_access_key [redacted]",
        ),
        (
            "curl https://hooks.slack.com/services/T0/B0/x",
            "curl https://hooks.slack.com/services/[redacted]",
        ),
        (
            "curl https://api.telegram.org/bot123:AAx/y",
            "curl https://api.telegram.org/bot[redacted]",
        ),
        ("id AKIAIOSFODNN7EXAMPLE9", "id [redacted]"),
        ("export X=sk-proj-0123456789abcdefgh", "export X=[redacted]"),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\n",
            "a\n[redacted]-----END RSA PRIVATE KEY-----\n",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMII", "[redacted]"),
        ("token ring", "token ring"),
        ("the secret of life", "the secret of life"),
        ("--token-limit 500", "--token-limit 500"),
        ("cargo test tokenize.py: ok", "cargo test tokenize.py: ok"),
        ("é TOKEN=é", "é TOKEN=[redacted]"),
        (
            "sha256:0123456789012345678901234567890123456789012345678901234567890123",
            "sha256:0123456789012345678901234567890123456789012345678901234567890123",
        ),
        ("", ""),
    ] {
        assert_eq!(redact(text), expected, "{text}");
    }
}

/// Ways in which an outside attack got secrets past an earlier version.
#[test]
fn secrets_are_found_after_any_prefix() {
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    for before in [
        "\u{1b}[31m",
        "\u{1b}[1;32m",
        "\\u001b[0m",
        "\\n",
        "\\t",
        "\\u000a",
        "%3D",
        "%0a",
        "x",
        "prefix",
        "_",
        "7",
        "é",
        "\\x41",
    ] {
        for token in [token, "sk-Ab0123456789Cdefghij0123", "AKIAIOSFODNN7EXAMPL3"] {
            let clean = redact(&format!("{before}{token} end")).into_owned();
            assert!(
                !clean.contains(token) && clean.ends_with("[redacted] end"),
                "{before:?}: {clean}"
            );
        }
    }
}

#[test]
fn a_secret_is_found_after_its_name_in_any_notation() {
    for (text, expected) in [
        (r#"{\"password\":\"x\"}"#, r#"{\"password\":\"[redacted]\"}"#),
        (r#"{\\\"password\\\":\\\"x\\\"}"#, r#"{\\\"password\\\":\\\"[redacted]\\\"}"#),
        ("password => 'x y'", "password => '[redacted]'"),
        (r#""secret" => "x""#, r#""secret" => "[redacted]""#),
        ("token := x", "token := [redacted]"),
        ("MY_DB_PASSWORD_OLD=x", "MY_DB_PASSWORD_OLD=[redacted]"),
        ("x-api-key-2: x", "x-api-key-2: [redacted]"),
        ("BYPASS_TOKEN=x", "BYPASS_TOKEN=[redacted]"),
        ("compass_password=x", "compass_password=[redacted]"),
        ("a=1&password%3Dx&b=2", "a=1&password%3D[redacted]&b=2"),
        ("password\u{1b}[0m=\u{1b}[31mx", "password\u{1b}[0m=\u{1b}[31m[redacted]"),
        ("<password>x</password>", "<password>[redacted]</password>"),
        ("&quot;password&quot;:&quot;x&quot;", "&quot;password&quot;:&quot;[redacted]&quot;"),
        (r#"{\"authorization\":\"Bearer x y\"}"#, r#"{\"authorization\":\"[redacted]\"}"#),
        ("if password == hunter2", "if password == [redacted]"),
        (r#"{"password":"a\"b","c":1}"#, r#"{"password":"[redacted]","c":1}"#),
        (r#"{\"password\":\"a\\\"b\",\"c\":1}"#, r#"{\"password\":\"[redacted]\",\"c\":1}"#),
        ("password: |\n  one\n  two\nnext: 1", "password: |\n  [redacted]\nnext: 1"),
        ("secret: >-\n  one\n", "secret: >-\n  [redacted]\n"),
        ("machine h login me password x", "machine h login me password [redacted]"),
        ("MASTER_KEY=x", "MASTER_KEY=[redacted]"),
    ] {
        assert_eq!(redact(text), expected, "{text}");
    }
}

#[test]
fn ordinary_output_is_not_redacted() {
    for text in [
        "commit 5ccbd03f2ef373e0123456789abcdef012345678",
        "id: 550e8400-e29b-41d4-a716-446655440000",
        "task-2024-11-16-0001-report-final-version",
        "disk-0123456789abcdefghijklmn",
        "token::parse(input)",
        "max_tokens: 1000, total_tokens=17",
        "compass: north",
        "3 passed; 0 failed; passing: all",
        "http://localhost:4873/@scope/package@1.2.3",
        "the password is not shown",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "docker run image\nuse -p to publish ports",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn granted_values_are_redacted_plain_and_encoded() {
    let redactor = Redactor::new([
        "s3cr3t/Value+1",
        "abcd",
        "tru",
        "true",
        "12",
        "-----\nline one of a key\n-----",
    ]);
    for (text, expected) in [
        ("x s3cr3t/Value+1 y", "x [redacted] y"),
        ("xs3cr3t/Value+1y", "x[redacted]y"),
        ("q=s3cr3t%2FValue%2B1&r", "q=[redacted]&r"),
        // `user:s3cr3t/Value+1` and the value alone.
        ("Basic dXNlcjpzM2NyM3QvVmFsdWUrMQ==", "Basic dXNlcjp[redacted]Q=="),
        // The last letter is not the value's alone.
        ("czNjcjN0L1ZhbHVlKzE", "[redacted]E"),
        ("733363723374", "733363723374"),
        ("7333637233742f56616c75652b31", "[redacted]"),
        ("line one of a key", "[redacted]"),
        // Short ones count as words, very short ones and plain settings not at all.
        ("abcd abcde xabcd a-abcd", "[redacted] abcde xabcd a-[redacted]"),
        ("true tru 12", "true tru 12"),
    ] {
        assert_eq!(redactor.redact(text), expected, "{text}");
    }
    let overlapping = Redactor::new(["abcdefghij", "ghijklmnop"]);
    assert_eq!(overlapping.redact("abcdefghijklmnop"), "[redacted]");
    let odd = Redactor::new(["redacted", "[redacted]", "cted]tail"]);
    let clean = odd.redact("[redacted]tail redacted").into_owned();
    assert_eq!(odd.redact(&clean), clean);
}

#[test]
fn an_argument_after_a_secret_option_is_redacted() {
    let redactor = Redactor::new(["granted-value-1"]);
    let given =
        ["--password", "hunter2", "--name", "me", "a=granted-value-1", "--token=x", "plain"];
    let clean = redactor.redact_arguments(&given.map(str::to_owned));
    assert_eq!(
        clean,
        ["--password", "[redacted]", "--name", "me", "a=[redacted]", "--token=[redacted]", "plain"]
    );
}

/// A value goes however a program writes it.
#[test]
fn granted_values_are_redacted_in_any_escaping_or_encoding() {
    let value = "pässwörd-ключ/9x";
    let redactor = Redactor::new([
        value,
        "k9Qz",
        "Basic-Key/0123456789abcdefghij+long enough to wrap at the end of a line",
    ]);
    let hex: Vec<String> = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let (one, two) = hex.split_at(11);
    let units =
        |text: &str| text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
    let dumped = |places: [&str; 2]| {
        let (one, two) = hex.split_at(16);
        format!("{} {}\n{} {}\n", places[0], one.join(" "), places[1], two.join(" "))
    };
    for text in [
        value.to_owned(),
        units(value),
        units(value).replace('\\', "\\\\"),
        value.replace('/', "\\/"),
        value
            .chars()
            .map(|c| if c.is_ascii() { c.to_string() } else { units(&c.to_string()) })
            .collect(),
        value.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        value.bytes().map(|byte| format!("%{byte:02x}")).collect(),
        value.bytes().map(|byte| format!("%25{byte:02x}")).collect(),
        "p%C3%A4ssw%C3%B6rd-%D0%BA%D0%BB%D1%8E%D1%87/9x".to_owned(),
        value.bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
        value.bytes().map(|byte| format!("\\{byte:03o}")).collect(),
        value.chars().map(|c| format!("&#{};", u32::from(c))).collect(),
        value.chars().map(|c| format!("&#x{:X};", u32::from(c))).collect(),
        value.chars().map(|c| format!("{c}\u{1b}[0m")).collect(),
        value.chars().map(|c| format!("{c}\u{200b}")).collect(),
        hex.concat(),
        hex.join(":").to_uppercase(),
        hex.join(" "),
        format!("0x{}", hex.join(", 0x")),
        format!("{}\n{}\n", one.concat(), two.concat()),
        dumped(["0000000", "0000020"]),
        dumped(["00000000:", "00000010:"]),
        dumped(["00000000 ", "00000010 "]),
    ] {
        let clean = redactor.redact_values(&text).into_owned();
        let rest = clean.replacen(REDACTED, "", 1);
        let rest =
            rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ':' | ' ' | 'x'));
        let is_rest =
            |text: &str| text.trim().is_empty() || text == "\u{1b}[0m" || text == "\u{200b}";
        assert!(clean.contains(REDACTED) && is_rest(rest), "{text:?}: {clean:?}");
    }
    for (text, expected) in [
        ("\u{1b}[31mk9Qz\u{1b}[0m", "\u{1b}[31m[redacted]\u{1b}[0m"),
        ("x\u{1b}[31mk9Qz\u{1b}[0my", "x\u{1b}[31m[redacted]\u{1b}[0my"),
        ("\\u001b[31mk9Qz\\u001b[0m", "\\u001b[31m[redacted]\\u001b[0m"),
        ("a\\nk9Qz\\n", "a\\n[redacted]\\n"),
        ("K9QZ k9Qzs", "K9QZ k9Qzs"),
        ("BASIC-KEY/0123456789ABCDEFGHIJ+long enough to wrap at the end of a line", "[redacted]"),
        // As `base64` wraps it.
        (
            "QmFzaWMtS2V5LzAxMjM0NTY3ODlhYmNkZWZnaGlqK2xvbmcgZW5vdWdoIHRvIHdyYXAgYXQgdGhl\nIGVuZCBvZiBhIGxpbmUK\n",
            "[redacted]UK\n",
        ),
    ] {
        assert_eq!(redactor.redact_values(text), expected, "{text}");
    }
}

#[test]
fn each_line_of_a_multiline_value_is_redacted() {
    let redactor = Redactor::new(["first-line\nsecond-line\nx\n"]);
    for text in
        ["first-line\r\nsecond-line\r\nx", "  first-line\n    second-line\n", "a second-line b"]
    {
        let clean = redactor.redact_values(text).into_owned();
        assert!(!clean.contains("first-line") && !clean.contains("second-line"), "{clean:?}");
    }
}

#[test]
fn a_truncated_value_at_the_end_of_text_is_redacted() {
    let redactor = Redactor::new(["k9Qz-granted-value"]);
    for (name, expected) in [
        ("k9Qz-granted-va", "[redacted]"),
        ("sh-k9Qz-grant", "sh-[redacted]"),
        ("k9Qz-gr", "k9Qz-gr"),
        ("python3", "python3"),
    ] {
        assert_eq!(redactor.redact_truncated(name), expected);
    }
    // A color may stand before every letter.
    let spaced: Vec<u8> = b"k9Qz-gra"
        .iter()
        .flat_map(|byte| [&b"\x1b[38;2;100;100;100m"[..], &[*byte]].concat())
        .collect();
    let kept = [b"x".repeat(10_000), spaced].concat();
    let whole = redactor.whole(&kept, 20_000);
    assert!(whole.len() > 5000 && whole.iter().all(|byte| *byte == b'x'), "{}", whole.len());
    assert_eq!(redactor.whole(&kept, kept.len() as u64).len(), kept.len());
}

/// Ways in which another attack got secrets past.
#[test]
fn secrets_in_structured_text_and_obfuscated_names_are_redacted() {
    for (text, expected) in [
        (r#"{"password":"ab\"cdTAIL"}"#, r#"{"password":"[redacted]"}"#),
        (r#"{"token":["x1","y2"],"a":1}"#, r#"{"token":[redacted],"a":1}"#),
        (r#"{"secret":{"value":"x"},"a":1}"#, r#"{"secret":[redacted],"a":1}"#),
        (r##"password="""x1""" y"##, r##"password="""[redacted]""" y"##),
        (r#"password = '''x1'''"#, r#"password = '''[redacted]'''"#),
        (r#"Authorization: Digest username="u", response="x1""#, "Authorization: [redacted]"),
        (
            r#"-H 'Authorization: Digest username="u", response="x1"' y"#,
            "-H 'Authorization: [redacted]' y",
        ),
        (r#"<add key="password" value="x1"/>"#, r#"<add key="password" value="[redacted]"/>"#),
        (r#"{"name":"password","value":"x1"}"#, r#"{"name":"password","value":"[redacted]"}"#),
        ("//u:pw12@host/x", "//u:[redacted]@host/x"),
        ("ftp u:pw12@host:22", "ftp u:[redacted]@host:22"),
        ("SG.abcdefghijk12.lmnopQRSTUV34", "[redacted]"),
        ("hf_abcdefghijklmn0123456789", "[redacted]"),
        ("hvs.CAESIabcdefghijklmn0123", "[redacted]"),
        ("bot 123456789:AAFabcdefghijklmnopqrstuvwxyz01234", "bot [redacted]"),
        ("https://a.b/c?se=1&sig=x1%2B&sp=r", "https://a.b/c?se=1&sig=[redacted]&sp=r"),
        ("ｐａｓｓｗｏｒｄ=x1", "ｐａｓｓｗｏｒｄ=[redacted]"),
        ("pass\u{200b}word=x1", "pass\u{200b}word=[redacted]"),
        ("pass\u{1b}[31mword=x1", "pass\u{1b}[31mword=[redacted]"),
        ("gh\u{200b}p_0123456789abcdefghij", "[redacted]"),
    ] {
        assert_eq!(redact(text), expected, "{text}");
    }
    for text in [
        "git@github.com:me/repo.git",
        "12:30 me@example.com",
        "note: mail me@example.com",
        "image: registry:5000/name@sha256:0123456789abcdef",
        "a //comment: see me@example.com",
        "design=1&sign=2",
        "<add key=\"name\" value=\"x1\"/>",
    ] {
        assert_eq!(redact(text), text);
    }
}
