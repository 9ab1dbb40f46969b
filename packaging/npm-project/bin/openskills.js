#!/usr/bin/env node
"use strict";
require("../launch.js")("openskills", process.argv.slice(2));
