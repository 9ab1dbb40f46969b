#!/usr/bin/env node
"use strict";
// `npx cocoaskills` needs a command with the package's name.
const [program, ...args] = process.argv.slice(2);
if (program === "csk" || program === "openskills") {
  require("../launch.js")(program, args);
} else {
  console.error("usage: cocoaskills csk <ARGS>...\n       cocoaskills openskills <ARGS>...");
  process.exit(2);
}
