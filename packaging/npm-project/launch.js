"use strict";
// Starts a program from the platform package. Never searches PATH: that could find another version.

const { spawn } = require("child_process");
const { constants } = require("os");
const { isatty } = require("tty");
const { optionalDependencies } = require("./package.json");

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2", "SIGWINCH", "SIGCONT"];
// The terminal sends these to all processes in the foreground. To forward them would deliver them twice.
const FROM_TERMINAL = ["SIGINT", "SIGQUIT", "SIGWINCH"];

// Starts `program` with the arguments of this process. Never returns.
module.exports = function launch(program, args) {
  const scope = "@cocoaskills/";
  const platform = `${process.platform}-${process.arch}`;
  // Linux has one package for glibc, which comes first, and one for musl.
  const packages = Object.keys(optionalDependencies).filter((name) =>
    [platform, `${platform}-musl`].includes(name.slice(scope.length)),
  );
  if (packages.length === 0) {
    const supported = Object.keys(optionalDependencies).map((name) => name.slice(scope.length));
    fail(
      `the npm package cocoaskills does not support ${platform}; supported: ${supported.join(", ")}`,
      "build csk and openskills from source, with `cargo install --path`",
    );
  }
  const paths = packages.map((name) => find(name, program)).filter(Boolean);
  if (paths.length === 0) {
    fail(
      `the npm package ${packages.join(" or ")} is not installed`,
      "install cocoaskills again, without `--omit=optional`, on the machine that runs it",
    );
  }
  start(paths, args);
};

function find(name, program) {
  try {
    return require.resolve(`${name}/bin/${program}${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    return undefined;
  }
}

function start([path, ...others], args) {
  let child;
  // `process.stdin` would make a pipe non-blocking, for the program as well.
  const isForeground = [0, 1, 2].some((file) => isatty(file));
  const handlers = SIGNALS.map((signal) => [
    signal,
    () => {
      if (!(isForeground && FROM_TERMINAL.includes(signal))) child.kill(signal);
    },
  ]);
  // Before the program starts, so that no signal is lost.
  for (const [signal, handler] of handlers) process.on(signal, handler);
  const stop = () => {
    for (const [signal, handler] of handlers) process.removeListener(signal, handler);
  };

  child = spawn(path, args, { stdio: "inherit" });
  child.on("error", (error) => {
    stop();
    // Old versions of npm install both packages for Linux. The one for glibc cannot start without glibc.
    if (error.code === "ENOENT" && others.length > 0) start(others, args);
    else fail(`cannot start \`${path}\`: ${error.message}`);
  });
  child.on("exit", (code, signal) => {
    stop();
    if (signal) {
      // The parent sees how the program ended. Signals that Node.js ignores do not end this process.
      process.kill(process.pid, signal);
      code = 128 + constants.signals[signal];
    }
    process.exit(code);
  });
}

// Agents treat this exit code of a hook as a refusal.
function fail(message, hint) {
  console.error(`error: ${message}`);
  if (hint) console.error(`hint: ${hint}`);
  process.exit(2);
}
