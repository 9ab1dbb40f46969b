// A server of the skills below a folder, made with the official SDK for TypeScript: node mcp_real_server.mjs FOLDER [http]
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, way] = process.argv.slice(2);
const require = createRequire(join(process.env.MCP_TYPESCRIPT, 'x.js'));
const load = name => import(pathToFileURL(require.resolve(name)));
const { Server, createMcpHandler } = await load('@modelcontextprotocol/server');
const { serveStdio } = await load('@modelcontextprotocol/server/stdio');
const { toNodeHandler } = await load('@modelcontextprotocol/node');
const { z } = await load('zod');

const EXTENSION = 'io.modelcontextprotocol/skills';
const params = z.looseObject({});
const files = at =>
    readdirSync(at, { withFileTypes: true }).flatMap(entry =>
        entry.isDirectory() ? files(join(at, entry.name)) : [join(at, entry.name)]);
const skill = name => {
    const text = readFileSync(join(folder, name, 'SKILL.md'), 'utf8');
    const head = text.split('---\n')[1].trim().split('\n').map(line => line.split(': '));
    const resources = files(join(folder, name)).map(path => {
        const bytes = readFileSync(path);
        const digest = 'sha256:' + createHash('sha256').update(bytes).digest('hex');
        return { uri: `skill://${relative(folder, path)}`, digest, size: bytes.length };
    });
    return { uri: `skill://${name}/SKILL.md`, frontmatter: Object.fromEntries(head), resources };
};

function make() {
    const capabilities = { resources: {}, extensions: { [EXTENSION]: {} } };
    const server = new Server({ name: 'real', version: '1.0.0' }, { capabilities });
    server.setRequestHandler('skills/list', { params }, async () => {
        const skills = readdirSync(folder).map(skill);
        return { resultType: 'complete', skills, ttlMs: 0, cacheScope: 'private', _meta: { 'example.com/made': 'by hand' } };
    });
    server.setRequestHandler('resources/read', async request => {
        const path = join(folder, request.params.uri.slice('skill://'.length));
        return { contents: [{ uri: request.params.uri, text: readFileSync(path, 'utf8') }], ttlMs: 0, cacheScope: 'private', _meta: { 'example.com/made': 'by hand' } };
    });
    return server;
}

if (way === 'http') {
    const http = createServer(toNodeHandler(createMcpHandler(make)));
    http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
} else {
    serveStdio(make);
}
