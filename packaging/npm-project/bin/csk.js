#!/usr/bin/env node
"use strict";
require("../launch.js")("csk", process.argv.slice(2));
