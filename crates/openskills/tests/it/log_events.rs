//! Every event, as the commands about the log show it.

use expect_test::{Expect, expect};
use serde_json::Value;
use testkit::TestEnv;

use crate::openskills;

const EVERY: &str = include_str!("../../../openskills-runtime/tests/fixtures/every-event.jsonl");

/// A log of every event, and of two that this version cannot read.
fn run(command: &str) -> String {
    let env = TestEnv::new();
    let others = [
        r#"{"seq":36,"prev":"p","time":"2026-01-02T03:04:05.678Z","event":"skill.rated","skillId":"personal/pdf","stars":5}"#,
        r#"{"seq":37,"prev":"p","time":"2026-01-02T03:04:05.678Z","event":"skill.applied","skillId":"personal/pdf"}"#,
    ];
    env.write("log.jsonl", format!("{EVERY}{}\n", others.join("\n")).as_bytes());
    let run = openskills(&env, command);
    assert_eq!(run.code, Some(0), "{command}: {}", run.stderr);
    run.stdout
}

fn check(command: &str, expected: &Expect) {
    expected.assert_eq(&run(command));
}

#[test]
fn log_show_has_a_detail_for_every_event() {
    check(
        "log show log.jsonl",
        &expect![[r#"
            1   2026-01-02T03:04:05.678Z  log.started               -             after archive-20260101T000000000Z
            2   2026-01-02T03:04:05.678Z  log.recovered             -             dropped an incomplete line of 17 bytes
            3   2026-01-02T03:04:05.678Z  log.checkpoint_failed     -             /mnt/x: No such file or directory
            4   2026-01-02T03:04:05.678Z  skill.discovered          personal/pdf  new /s/pdf
            5   2026-01-02T03:04:05.678Z  skill.discovered          personal/pdf  changed /s/pdf
            6   2026-01-02T03:04:05.678Z  skill.removed             personal/csv  /s/csv
            7   2026-01-02T03:04:05.678Z  skill.activated           personal/pdf  abababababab in one
            8   2026-01-02T03:04:05.678Z  skill.activated           personal/pdf  abababababab in one (repeat)
            9   2026-01-02T03:04:05.678Z  skill.deactivated         personal/pdf  in one
            10  2026-01-02T03:04:05.678Z  skill.activation_failed   nope          no skill named `nope`
            11  2026-01-02T03:04:05.678Z  skill.activation_failed   personal/pdf  the skill changed
            12  2026-01-02T03:04:05.678Z  skill.resource_read       personal/pdf  notes.md
            13  2026-01-02T03:04:05.678Z  skill.script_started      personal/pdf  scripts/go.py (a.pdf, b.pdf), without network
            14  2026-01-02T03:04:05.678Z  skill.script_executed     personal/pdf  scripts/go.py success in 12 ms, 1 denied
            15  2026-01-02T03:04:05.678Z  skill.script_executed     personal/pdf  scripts/go.py timeout in 12 ms
            16  2026-01-02T03:04:05.678Z  skill.script_executed     personal/pdf  scripts/go.py failed in 12 ms, interrupted by signal 15; the workspace may have been changed
            17  2026-01-02T03:04:05.678Z  skill.script_failed       personal/pdf  scripts/go.py: no such interpreter; the workspace may have been changed
            18  2026-01-02T03:04:05.678Z  skill.script_interrupted  personal/pdf  scripts/go.py: process 4242 was killed; the workspace may have been changed
            19  2026-01-02T03:04:05.678Z  skill.applied             personal/pdf  scripts/go.py: applied 2 changes to the workspace
            20  2026-01-02T03:04:05.678Z  skill.apply_failed        personal/pdf  scripts/go.py: received signal 15 before anything was applied
            21  2026-01-02T03:04:05.678Z  skill.apply_interrupted   personal/pdf  scripts/go.py: the process was killed while applying changes; the workspace may have been changed
            22  2026-01-02T03:04:05.678Z  skill.undone              personal/pdf  reverted 2 paths in the workspace
            23  2026-01-02T03:04:05.678Z  skill.beyond_limits       personal/pdf  its description has 2000 characters
            24  2026-01-02T03:04:05.678Z  skill.not_listed          personal/pdf  its name is not a slug
            25  2026-01-02T03:04:05.678Z  skill.installed           pdf           cdcdcdcdcdcd from /tmp/pdf.zip
            26  2026-01-02T03:04:05.678Z  skill.uninstalled         pdf           from /home/u/.local/share/openskills/skills/pdf
            27  2026-01-02T03:04:05.678Z  mcp.skill_changed         mcp-acme/pdf  SKILL.md: it is not what was approved
            28  2026-01-02T03:04:05.678Z  mcp.called                -             skills.read pdf: answered
            29  2026-01-02T03:04:05.678Z  mcp.called                -             skills.run_script pdf: asked
            30  2026-01-02T03:04:05.678Z  mcp.called                -             skills.list: failed
            31  2026-01-02T03:04:05.678Z  policy.decided            personal/pdf  allow Bash curl x: no rule allows it
            32  2026-01-02T03:04:05.678Z  policy.decided            personal/pdf  ask Bash curl x: no rule allows it
            33  2026-01-02T03:04:05.678Z  policy.decided            personal/pdf  deny Bash curl x: no rule allows it
            34  2026-01-02T03:04:05.678Z  approval.granted          personal/pdf  cdcdcdcdcdcd network: example.com
            35  2026-01-02T03:04:05.678Z  approval.revoked          personal/pdf  cdcdcdcdcdcd network: example.com
            36  2026-01-02T03:04:05.678Z  command.started           -             git status
            37  2026-01-02T03:04:05.678Z  command.executed          -             git status: exit code 0 in 12 ms, 1 change applied, processes left running
            38  2026-01-02T03:04:05.678Z  command.failed            -             git status: no user namespaces
            39  2026-01-02T03:04:05.678Z  command.interrupted       -             git status: process 4242 was killed; the workspace may have been changed
            40  2026-01-02T03:04:05.678Z  command.unconfined        -             git push: asked without the sandbox: `git push` uses your keys
            41  2026-01-02T03:04:05.678Z  packages.prepared         personal/pdf  pypdf from pypi.org 3c7cf2202c11
            36  2026-01-02T03:04:05.678Z  skill.rated               personal/pdf  unknown to this version of openskills
            37  2026-01-02T03:04:05.678Z  skill.applied             personal/pdf  cannot be read: missing field `executionId`
        "#]],
    );
}

#[test]
fn log_tail_shows_the_last_events() {
    check(
        "log tail -n 2 log.jsonl",
        &expect![[r#"
            36  2026-01-02T03:04:05.678Z  command.started      -             git status
            37  2026-01-02T03:04:05.678Z  command.executed     -             git status: exit code 0 in 12 ms, 1 change applied, processes left running
            38  2026-01-02T03:04:05.678Z  command.failed       -             git status: no user namespaces
            39  2026-01-02T03:04:05.678Z  command.interrupted  -             git status: process 4242 was killed; the workspace may have been changed
            40  2026-01-02T03:04:05.678Z  command.unconfined   -             git push: asked without the sandbox: `git push` uses your keys
            41  2026-01-02T03:04:05.678Z  packages.prepared    personal/pdf  pypdf from pypi.org 3c7cf2202c11
            36  2026-01-02T03:04:05.678Z  skill.rated          personal/pdf  unknown to this version of openskills
            37  2026-01-02T03:04:05.678Z  skill.applied        personal/pdf  cannot be read: missing field `executionId`
        "#]],
    );
}

#[test]
fn log_stats_counts_by_skill() {
    check(
        "log stats log.jsonl",
        &expect![[r#"
        skill         activated  failed  reads  runs  failed  allow  ask  deny  last
        mcp-acme/pdf  0          0       0      0     0       0      0    0     2026-01-02T03:04:05.678Z
        nope          0          1       0      0     0       0      0    0     2026-01-02T03:04:05.678Z
        pdf           0          0       0      0     0       0      0    0     2026-01-02T03:04:05.678Z
        personal/csv  0          0       0      0     0       0      0    0     2026-01-02T03:04:05.678Z
        personal/pdf  2          1       1      5     4       1      1    1     2026-01-02T03:04:05.678Z
    "#]],
    );
    check(
        "log stats log.jsonl --skill csv --json",
        &expect![[r#"
        {
          "version": 1,
          "stats": {
            "events": 1,
            "skills": {
              "personal/csv": {
                "activations": 0,
                "activationFailures": 0,
                "resourceReads": 0,
                "scriptRuns": 0,
                "scriptFailures": 0,
                "allowed": 0,
                "asked": 0,
                "denied": 0,
                "last": "2026-01-02T03:04:05.678Z"
              }
            }
          }
        }
    "#]],
    );
}

#[test]
fn log_export_csv_has_columns_and_a_detail() {
    check(
        "log export log.jsonl --format csv --event policy.",
        &expect![[r#"
            seq,time,event,skillId,source,sessionId,taskId,hash,path,decision,reason,detail,fields
            31,2026-01-02T03:04:05.678Z,policy.decided,personal/pdf,,one,t1,,,allow,no rule allows it,allow Bash curl x: no rule allows it,"{""skillId"":""personal/pdf"",""sessionId"":""one"",""taskId"":""t1"",""action"":""Bash"",""input"":""curl x"",""decision"":""allow"",""reason"":""no rule allows it""}"
            32,2026-01-02T03:04:05.678Z,policy.decided,personal/pdf,,one,t1,,,ask,no rule allows it,ask Bash curl x: no rule allows it,"{""skillId"":""personal/pdf"",""sessionId"":""one"",""taskId"":""t1"",""action"":""Bash"",""input"":""curl x"",""decision"":""ask"",""reason"":""no rule allows it""}"
            33,2026-01-02T03:04:05.678Z,policy.decided,personal/pdf,,one,t1,,,deny,no rule allows it,deny Bash curl x: no rule allows it,"{""skillId"":""personal/pdf"",""sessionId"":""one"",""taskId"":""t1"",""action"":""Bash"",""input"":""curl x"",""decision"":""deny"",""reason"":""no rule allows it""}"
        "#]],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a snapshot")]
fn log_export_otlp_has_a_severity_for_every_event() {
    let request: Value = serde_json::from_str(&run("log export log.jsonl --format otlp")).unwrap();
    let records = request["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap();
    let line = |record: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        assert_eq!(record["severityNumber"] == 13, record["severityText"] == "WARN");
        let [severity, body] = [&record["severityText"], &record["body"]["stringValue"]].map(text);
        format!("{severity} {body}\n")
    };
    expect![[r#"
        INFO log.started after archive-20260101T000000000Z
        WARN log.recovered dropped an incomplete line of 17 bytes
        WARN log.checkpoint_failed /mnt/x: No such file or directory
        INFO skill.discovered new /s/pdf
        INFO skill.discovered changed /s/pdf
        INFO skill.removed /s/csv
        INFO skill.activated abababababab in one
        INFO skill.activated abababababab in one (repeat)
        INFO skill.deactivated in one
        WARN skill.activation_failed no skill named `nope`
        WARN skill.activation_failed the skill changed
        INFO skill.resource_read notes.md
        INFO skill.script_started scripts/go.py (a.pdf, b.pdf), without network
        INFO skill.script_executed scripts/go.py success in 12 ms, 1 denied
        WARN skill.script_executed scripts/go.py timeout in 12 ms
        WARN skill.script_executed scripts/go.py failed in 12 ms, interrupted by signal 15; the workspace may have been changed
        WARN skill.script_failed scripts/go.py: no such interpreter; the workspace may have been changed
        WARN skill.script_interrupted scripts/go.py: process 4242 was killed; the workspace may have been changed
        INFO skill.applied scripts/go.py: applied 2 changes to the workspace
        WARN skill.apply_failed scripts/go.py: received signal 15 before anything was applied
        WARN skill.apply_interrupted scripts/go.py: the process was killed while applying changes; the workspace may have been changed
        INFO skill.undone reverted 2 paths in the workspace
        WARN skill.beyond_limits its description has 2000 characters
        WARN skill.not_listed its name is not a slug
        INFO skill.installed cdcdcdcdcdcd from /tmp/pdf.zip
        INFO skill.uninstalled from /home/u/.local/share/openskills/skills/pdf
        WARN mcp.skill_changed SKILL.md: it is not what was approved
        INFO mcp.called skills.read pdf: answered
        INFO mcp.called skills.run_script pdf: asked
        WARN mcp.called skills.list: failed
        INFO policy.decided allow Bash curl x: no rule allows it
        INFO policy.decided ask Bash curl x: no rule allows it
        WARN policy.decided deny Bash curl x: no rule allows it
        INFO approval.granted cdcdcdcdcdcd network: example.com
        INFO approval.revoked cdcdcdcdcdcd network: example.com
        INFO command.started git status
        INFO command.executed git status: exit code 0 in 12 ms, 1 change applied, processes left running
        WARN command.failed git status: no user namespaces
        WARN command.interrupted git status: process 4242 was killed; the workspace may have been changed
        WARN command.unconfined git push: asked without the sandbox: `git push` uses your keys
        INFO packages.prepared pypdf from pypi.org 3c7cf2202c11
        WARN skill.rated unknown to this version of openskills
        WARN skill.applied cannot be read: missing field `executionId`
    "#]].assert_eq(&records.iter().map(line).collect::<String>());
    expect![[r#"
        {
          "timeUnixNano": "1767323045678000000",
          "observedTimeUnixNano": "1767323045678000000",
          "severityNumber": 9,
          "severityText": "INFO",
          "eventName": "skill.activated",
          "body": {
            "stringValue": "skill.activated abababababab in one"
          },
          "attributes": [
            {
              "key": "openskills.seq",
              "value": {
                "intValue": "7"
              }
            },
            {
              "key": "openskills.prev",
              "value": {
                "stringValue": "sha256:0000000000000000000000000000000000000000000000000000000000000000"
              }
            },
            {
              "key": "openskills.skillId",
              "value": {
                "stringValue": "personal/pdf"
              }
            },
            {
              "key": "openskills.hash",
              "value": {
                "stringValue": "sha256:abababababababababababababababababababababababababababababababab"
              }
            },
            {
              "key": "openskills.source",
              "value": {
                "stringValue": "user"
              }
            },
            {
              "key": "openskills.sessionId",
              "value": {
                "stringValue": "one"
              }
            },
            {
              "key": "openskills.taskId",
              "value": {
                "stringValue": "t1"
              }
            },
            {
              "key": "openskills.activatedAt",
              "value": {
                "stringValue": "2026-01-02T03:04:05.678Z"
              }
            },
            {
              "key": "openskills.attached",
              "value": {
                "boolValue": true
              }
            },
            {
              "key": "openskills.origin",
              "value": {
                "stringValue": "mcp:acme:skill://pdf/SKILL.md"
              }
            },
            {
              "key": "openskills.repeated",
              "value": {
                "boolValue": false
              }
            }
          ]
        }
    "#]].assert_eq(&format!("{:#}\n", records[6]));
}
