/** Milliseconds that this process has computed so far, in all its threads: what else a machine does is none of it. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
