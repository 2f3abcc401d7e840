// Runs commands with their output in view; the first that fails ends the script with its status.
import { spawnSync } from "node:child_process";
import { ROOT } from "./config.mjs";

export function run(command, args, env = {}) {
  console.log(`\n$ ${[command, ...args].join(" ")}`);
  const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio: "inherit", env: { ...process.env, ...env } });
  if (error) console.error(error.message);
  if (status !== 0) process.exit(status ?? 1);
}
