//! The tools as a client sees them: their whole listing, and one whole answer of each.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use testkit::TestEnv;

use crate::mcp::{Client, SKILLS, approve};

fn check(value: &Value, expected: &Expect) {
    expected.assert_eq(&format!("{value:#}\n"));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a snapshot")]
fn the_listing_of_the_tools() {
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
            "description": "Lists the skills that there are: what each does and when to use it. With `query` the best matches come first.",
            "inputSchema": {
              "type": "object",
              "properties": {
                "query": {
                  "type": "string",
                  "description": "Words to look for"
                },
                "cursor": {
                  "type": "string",
                  "description": "Where the last answer said that more begins"
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
            "description": "Activates a skill: returns its instructions and the names of its files. Follow the instructions for the task at hand.",
            "inputSchema": {
              "type": "object",
              "properties": {
                "name": {
                  "type": "string",
                  "description": "The name or the id of a skill",
                  "enum": [
                    "pdf",
                    "quick",
                    "waits"
                  ]
                },
                "skillId": {
                  "type": "string",
                  "description": "The id of a skill, in place of `name`"
                },
                "arguments": {
                  "type": "string",
                  "description": "What the skill is to work on, if its instructions ask for arguments"
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
            "title": "Read a file of a skill",
            "description": "Reads a file of a skill by its path below the skill's folder, such as references/guide.md. Of a long text it gives a part, and says how to get the next; of a folder it lists the files.",
            "inputSchema": {
              "type": "object",
              "properties": {
                "name": {
                  "type": "string",
                  "description": "The name or the id of a skill",
                  "enum": [
                    "pdf",
                    "quick",
                    "waits"
                  ]
                },
                "skillId": {
                  "type": "string",
                  "description": "The id of a skill, in place of `name`"
                },
                "path": {
                  "type": "string",
                  "description": "The path, seen from the skill"
                },
                "offset": {
                  "type": "integer",
                  "minimum": 0,
                  "description": "Where to begin, in bytes"
                },
                "limit": {
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 4194304,
                  "description": "The most bytes to give; 65536 by default"
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
            "title": "Run a script of a skill",
            "description": "Runs a script of a skill in a sandbox, if the user has approved it. Returns its output, its exit code and what it changed.",
            "inputSchema": {
              "type": "object",
              "properties": {
                "name": {
                  "type": "string",
                  "description": "The name or the id of a skill",
                  "enum": [
                    "pdf",
                    "quick",
                    "waits"
                  ]
                },
                "skillId": {
                  "type": "string",
                  "description": "The id of a skill, in place of `name`"
                },
                "script": {
                  "type": "string",
                  "description": "The script or module, seen from the skill; the only one by default"
                },
                "args": {
                  "type": "array",
                  "items": {
                    "type": "string"
                  },
                  "description": "Its arguments"
                },
                "input": {
                  "description": "What it is given as JSON, on standard input"
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
                  "description": "Work in the workspace instead of an empty folder; what it writes is applied if it ends well"
                },
                "dry_run": {
                  "type": "boolean",
                  "description": "Show what it would change in the workspace, and change nothing"
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
fn one_answer_of_each_tool() {
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
                  "text": "<skill_content name=\"pdf\" id=\"s/pdf\" source=\"user\" hash=\"sha256:130cd92579787eb33f07a077df7c1461a95a64fc8cb3c7e8b8a77949eeee437c\">\nRead [the guide](references/guide.md) about tables.\n\nTo read a file of this skill: call skills.read_resource with name \"pdf\" and the path of the file (and nested true, if that is more than one folder deep); the path of a folder lists what is in it\n<skill_resources>\n  <file>references/deep/more.md</file>\n  <file>references/guide.md</file>\n  <file>scripts/hi.py</file>\n</skill_resources>\n</skill_content>\n"
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
              "text": "`s/pdf` does not run yet: scripts of your own skills run only with your word\nhint: only the user can approve it; ask them to use a terminal: approve it: openskills approve s/pdf (with the same --dir folders as this server)"
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
              "committed": false,
              "tried": [],
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
