// The runner imports `globSync` from `fs`, which Node.js has from 22 on, and calls it nowhere that these scenarios reach. For older ones it is given one that fails.
import * as fs from 'node:fs';
import { register } from 'node:module';

const stand_in = 'export * from "node:fs"; export function globSync() { throw new Error("there is no globSync here"); }';
const hooks = `
const url = ${JSON.stringify('data:text/javascript,' + encodeURIComponent(stand_in))};
export async function resolve(name, context, next) {
    const isRunner = name === 'fs' && context.parentURL?.includes('/conformance/');
    return isRunner ? { url, shortCircuit: true } : next(name, context);
}`;
if (!('globSync' in fs)) {
    register('data:text/javascript,' + encodeURIComponent(hooks), import.meta.url);
}
