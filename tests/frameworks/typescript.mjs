// The TypeScript SDK's `Client`, and its client of the skills extension. Runs the plan that `check` writes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const plan = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const { command, args, env, url } = plan;
const client = new Client({ name: 'tests', version: '1' });
await client.connect(url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args, env }));

const names = (await client.listTools()).tools.map(tool => tool.name);
assert.ok(plan.tools.every(name => names.includes(name)), `tools are ${names}`);
for (const [step, calls] of Object.entries(plan.steps)) {
    for (const call of calls) {
        const result = await client.callTool({ name: call.tool, arguments: call.arguments });
        const text = result.content.filter(block => block.type === 'text').map(block => block.text).join('');
        const message = `${step}: ${call.tool} ${JSON.stringify(call.arguments)} gave ${JSON.stringify(result)}`;
        assert.equal(result.isError ?? false, call.error, message);
        assert.ok(call.contains.every(part => text.includes(part)), message);
    }
    if (step === 'resource') {
        for (const [uri, wanted] of Object.entries(plan.resources)) {
            assert.equal((await client.readResource({ uri })).contents[0].text, wanted);
        }
    }
    console.log(`ok ${step}`);
}

// Every file is checked against the size and digest in the entry, and the frontmatter of SKILL.md against the entry's.
const skills = new SkillsClient(client);
assert.ok(skills.supported, 'the extension is not offered');
const { skill } = await skills.get(plan.skill);
for (const [path, wanted] of Object.entries(plan.files)) {
    const file = await skills.read(skill, path);
    assert.equal(Buffer.from(file.bytes).toString(), wanted);
    assert.ok(file.verified, `${path} was not verified`);
}
const listed = (await skills.list()).skills.map(({ frontmatter }) => [frontmatter.name, frontmatter.description]);
assert.deepEqual(Object.fromEntries(listed), plan.standard);
console.log('ok own');
await client.close();
