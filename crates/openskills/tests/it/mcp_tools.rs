//! The tools as a client sees them: their complete list, and a complete result of each.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use testkit::TestEnv;

use crate::mcp::{Client, SKILLS, approve};

fn check(value: &Value, expected: &Expect) {
    expected.assert_eq(&format!("{value:#}\n"));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a snapshot")]
fn the_tools_are_listed() {
    let env = TestEnv::with(SKILLS);
    let mut client = Client::start(&env, "--workspace .");
    let tools = client.ask("tools/list", &json!({}));
    check(
        &tools["result"]["tools"],
        &expect![[r#"
        [
          {
            "name": "skills.list",
            "title": "List skills",
            "description": "Lists the available skills: what each one does and when to use it. With `query`, the best matches come first.",
            "inputSchema": {
              "type": "object",
              "properties": {
                "query": {
                  "type": "string",
                  "description": "Search terms"
                },
                "cursor": {
                  "type": "string",
                  "description": "Cursor from the previous result, to get the next page"
                }
              },
              "required": [],
              "additionalProperties": false
            },
            "outputSchema": {
              "type": "object",
              "properties": {
                "skills": {
                  "type": "array",
                  "items": {
                    "type": "object",
                    "properties": {
                      "id": {
                        "type": "string"
                      },
                      "skillId": {
                        "type": "string"
                      },
                      "name": {
                        "type": "string"
                      },
                      "description": {
                        "type": "string"
                      },
                      "source": {
                        "type": "string"
                      },
                      "uri": {
                        "type": "string"
                      },
                      "server": {
                        "type": "string"
                      }
                    },
                    "required": [
                      "id",
                      "skillId",
                      "name",
                      "description",
                      "source",
                      "uri"
                    ]
                  }
                },
                "nextCursor": {
                  "type": "string"
                }
              },
              "required": [
                "skills"
              ]
            },
            "annotations": {
              "readOnlyHint": true,
              "idempotentHint": true,
              "openWorldHint": false
            }
          },
          {
            "name": "skills.read",
            "title": "Read a skill",
            "description": "Activates a skill: returns its instructions and file names. Follow the instructions for the task at hand.",
            "inputSchema": {
              "type": "object",
              "properties": {
                "name": {
                  "type": "string",
                  "description": "Skill name or ID",
                  "enum": [
                    "pdf",
                    "quick",
                    "waits"
                  ]
                },
                "skillId": {
                  "type": "string",
                  "description": "Skill ID, instead of `name`"
                },
                "arguments": {
                  "type": "string",
                  "description": "What the skill should work on, if its instructions take arguments"
                }
              },
              "required": [],
              "additionalProperties": false
            },
            "annotations": {
              "readOnlyHint": true,
              "idempotentHint": true,
              "openWorldHint": false
            }
          },
          {
            "name": "skills.read_resource",
            "title": "Read a skill file",
            "description": "Reads a skill file by its path relative to the skill's folder, such as references/guide.md. Long texts are returned in parts, each with instructions for getting the next one. If the path is a folder, lists its files.",
            "inputSchema": {
              "type": "object",
              "properties": {
                "name": {
                  "type": "string",
                  "description": "Skill name or ID",
                  "enum": [
                    "pdf",
                    "quick",
                    "waits"
                  ]
                },
                "skillId": {
                  "type": "string",
                  "description": "Skill ID, instead of `name`"
                },
                "path": {
                  "type": "string",
                  "description": "Path relative to the skill's folder"
                },
                "offset": {
                  "type": "integer",
                  "minimum": 0,
                  "description": "Byte offset to start at"
                },
                "limit": {
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 4194304,
                  "description": "Maximum number of bytes to return; default 65536"
                },
                "nested": {
                  "type": "boolean",
                  "description": "Allow files more than one folder deep"
                }
              },
              "required": [
                "path"
              ],
              "additionalProperties": false
            },
            "annotations": {
              "readOnlyHint": true,
              "idempotentHint": true,
              "openWorldHint": false
            }
          },
          {
            "name": "skills.run_script",
            "title": "Run a skill script",
            "description": "Runs one of a skill's scripts in a sandbox, if the user has approved the skill. Returns the output, the exit code and the changed files.",
            "inputSchema": {
              "type": "object",
              "properties": {
                "name": {
                  "type": "string",
                  "description": "Skill name or ID",
                  "enum": [
                    "pdf",
                    "quick",
                    "waits"
                  ]
                },
                "skillId": {
                  "type": "string",
                  "description": "Skill ID, instead of `name`"
                },
                "script": {
                  "type": "string",
                  "description": "Path of the script or module, relative to the skill's folder; optional if there is only one"
                },
                "args": {
                  "type": "array",
                  "items": {
                    "type": "string"
                  },
                  "description": "Arguments for the script"
                },
                "input": {
                  "description": "JSON value to pass to the script on stdin"
                },
                "timeout_seconds": {
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 600
                },
                "seed": {
                  "type": "integer",
                  "minimum": 0,
                  "description": "Seed for the module's random numbers and clocks"
                },
                "use_workspace": {
                  "type": "boolean",
                  "description": "Run in the workspace instead of an empty folder; changes are applied only if the script exits with 0"
                },
                "dry_run": {
                  "type": "boolean",
                  "description": "Return the changes that the script would make in the workspace, without applying them"
                }
              },
              "required": [],
              "additionalProperties": false
            },
            "annotations": {
              "readOnlyHint": false,
              "destructiveHint": true,
              "openWorldHint": true
            }
          }
        ]
    "#]],
    );
    let mut other = Client::start(&env, "");
    let without = other.ask("tools/list", &json!({}));
    let keys = |tools: &Value| -> Vec<String> {
        let properties = &tools["result"]["tools"][3]["inputSchema"]["properties"];
        properties.as_object().unwrap().keys().cloned().collect()
    };
    let (mut all, fewer) = (keys(&tools), keys(&without));
    all.retain(|key| !["use_workspace", "dry_run"].contains(&key.as_str()));
    assert_eq!(all, fewer, "only a server with a workspace names it");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a snapshot")]
fn each_tool_returns_a_result() {
    let env = TestEnv::with(SKILLS);
    let mut client = Client::start(&env, "");
    check(
        &client.tool("skills.list", &json!({"query": "extracts"})),
        &expect![[r#"
        {
          "content": [
            {
              "type": "text",
              "text": "s/pdf: Extracts text from PDFs. Use when a PDF is given.\n[all skills: 1]"
            }
          ],
          "structuredContent": {
            "skills": [
              {
                "id": "s/pdf",
                "skillId": "s/pdf",
                "name": "pdf",
                "description": "Extracts text from PDFs. Use when a PDF is given.",
                "source": "user",
                "uri": "skill://s/pdf/SKILL.md"
              }
            ]
          },
          "isError": false,
          "_meta": {
            "io.modelcontextprotocol/serverInfo": {
              "name": "openskills",
              "version": "0.1.0"
            }
          }
        }
    "#]],
    );
    check(
        &client.tool("skills.read", &json!({"name": "pdf", "arguments": "tables"})),
        &expect![[r#"
            {
              "content": [
                {
                  "type": "text",
                  "text": "<skill_content name=\"pdf\" id=\"s/pdf\" source=\"user\" hash=\"sha256:130cd92579787eb33f07a077df7c1461a95a64fc8cb3c7e8b8a77949eeee437c\">\nRead [the guide](references/guide.md) about tables.\n\nTo read a file of this skill: call skills.read_resource with name \"pdf\" and the file path (plus nested true if it is more than one folder deep); to list the files in a folder, pass the folder path\n<skill_resources>\n  <file>references/deep/more.md</file>\n  <file>references/guide.md</file>\n  <file>scripts/hi.py</file>\n</skill_resources>\n</skill_content>\n"
                }
              ],
              "isError": false,
              "_meta": {
                "openskills/result": {
                  "id": "s/pdf",
                  "skillId": "s/pdf",
                  "name": "pdf",
                  "hash": "sha256:130cd92579787eb33f07a077df7c1461a95a64fc8cb3c7e8b8a77949eeee437c",
                  "source": "user",
                  "files": [
                    "references/deep/more.md",
                    "references/guide.md",
                    "scripts/hi.py"
                  ],
                  "moreFiles": 0
                },
                "io.modelcontextprotocol/serverInfo": {
                  "name": "openskills",
                  "version": "0.1.0"
                }
              }
            }
        "#]],
    );
    let path = json!({"skillId": "s/pdf", "path": "references/guide.md", "limit": 4});
    check(
        &client.tool("skills.read_resource", &path),
        &expect![[r#"
        {
          "content": [
            {
              "type": "text",
              "text": "The "
            },
            {
              "type": "text",
              "text": "[bytes 0 to 4 of 11; for the rest, call skills.read_resource with name \"s/pdf\", path \"references/guide.md\" and offset 4]"
            }
          ],
          "isError": false,
          "_meta": {
            "openskills/result": {
              "skillId": "s/pdf",
              "uri": "skill://s/pdf/references/guide.md",
              "sha256": "sha256:a721445407782e110200b55d9029583fb703919368a04dce481d04984350090e",
              "size": 11,
              "path": "references/guide.md",
              "offset": 0,
              "nextOffset": 4
            },
            "io.modelcontextprotocol/serverInfo": {
              "name": "openskills",
              "version": "0.1.0"
            }
          }
        }
    "#]],
    );
    let folder = json!({"name": "pdf", "path": "references"});
    check(
        &client.tool("skills.read_resource", &folder),
        &expect![[r#"
        {
          "content": [
            {
              "type": "text",
              "text": "references/deep/more.md\nreferences/guide.md\n"
            }
          ],
          "isError": false,
          "_meta": {
            "openskills/result": {
              "skillId": "s/pdf",
              "path": "references",
              "offset": 0
            },
            "io.modelcontextprotocol/serverInfo": {
              "name": "openskills",
              "version": "0.1.0"
            }
          }
        }
    "#]],
    );
    let run = json!({"name": "pdf", "args": ["there"], "input": {"x": 1}});
    check(
        &client.tool("skills.run_script", &run),
        &expect![[r#"
            {
              "content": [
                {
                  "type": "text",
                  "text": "`s/pdf` is not approved: scripts of your own skills need approval before they run\nhint: only the user can approve it; in a terminal, the user must run `openskills approve s/pdf` (with the same --dir folders as this server)"
                }
              ],
              "isError": true,
              "_meta": {
                "io.modelcontextprotocol/serverInfo": {
                  "name": "openskills",
                  "version": "0.1.0"
                }
              }
            }
        "#]],
    );
    approve(&env, "pdf");
    check(
        &client.tool("skills.run_script", &run),
        &expect![[r#"
        {
          "content": [
            {
              "type": "text",
              "text": "{\"hi\": [\"there\"], \"in\": {\"x\": 1}}\n"
            }
          ],
          "isError": false,
          "_meta": {
            "openskills/result": {
              "exitCode": 0,
              "exitStatus": "success",
              "skillId": "s/pdf",
              "changes": [],
              "applied": false,
              "blockedCalls": [],
              "notGranted": [],
              "output": {
                "hi": [
                  "there"
                ],
                "in": {
                  "x": 1
                }
              }
            },
            "io.modelcontextprotocol/serverInfo": {
              "name": "openskills",
              "version": "0.1.0"
            }
          }
        }
    "#]],
    );
}

#[test]
fn the_extension_lists_skills_and_folders() {
    let env = TestEnv::with(SKILLS);
    let mut client = Client::start(&env, "");
    let skill = json!({"uri": "skill://s/quick/SKILL.md"});
    check(
        &client.ask("skills/get", &skill)["result"],
        &expect![[r#"
        {
          "resultType": "complete",
          "skill": {
            "uri": "skill://s/quick/SKILL.md",
            "frontmatter": {
              "name": "quick",
              "description": "Is done at once."
            },
            "resources": [
              {
                "uri": "skill://s/quick/SKILL.md",
                "digest": "sha256:5d1d434c49db7d0bf6b4b635f79386fed2fc4cdf6333bb9191f17f1b132aa38b",
                "size": 57
              },
              {
                "uri": "skill://s/quick/scripts/quick.sh",
                "digest": "sha256:62736c0cc1fd5ce0ff24bff266d9ea44e026c53f1fdf6b47caf02436969235e9",
                "size": 11
              }
            ]
          },
          "ttlMs": 5000,
          "cacheScope": "private",
          "_meta": {
            "io.modelcontextprotocol/serverInfo": {
              "name": "openskills",
              "version": "0.1.0"
            }
          }
        }
    "#]],
    );
    let folder = json!({"uri": "skill://s/pdf"});
    check(
        &client.ask("resources/directory/read", &folder)["result"],
        &expect![[r#"
        {
          "resultType": "complete",
          "resources": [
            {
              "uri": "skill://s/pdf/SKILL.md",
              "name": "pdf",
              "description": "Extracts text from PDFs. Use when a PDF is given.",
              "mimeType": "text/markdown",
              "size": 175
            },
            {
              "uri": "skill://s/pdf/references",
              "name": "references",
              "mimeType": "inode/directory"
            },
            {
              "uri": "skill://s/pdf/scripts",
              "name": "scripts",
              "mimeType": "inode/directory"
            }
          ],
          "ttlMs": 5000,
          "cacheScope": "private",
          "_meta": {
            "io.modelcontextprotocol/serverInfo": {
              "name": "openskills",
              "version": "0.1.0"
            }
          }
        }
    "#]],
    );
}
