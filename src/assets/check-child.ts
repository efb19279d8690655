import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { type PROGRAMS, programPath } from '../kernel/programs.ts';
import { runningTimer } from '../kernel/running-time.ts';

/** `ended`: the child ended, or was ended, without an answer; `absent`: it could not be started, which says nothing about the file. */
export type ChildAnswer =
  | { readonly kind: 'answer'; readonly message: unknown }
  | { readonly kind: 'ended' | 'absent'; readonly detail: string };

const SHELL = '/bin/sh';
/**
 * Node.js cannot limit the memory of a child, a shell can: of its data, which is all that it allocates. No core dumps. The limit of
 * processor time ends a child whose parent was killed meanwhile.
 */
const LIMITED = 'ulimit -c 0; ulimit -t "$1"; ulimit -d "$2"; shift 2; exec "$0" "$@"';
/** Choice: several times any deadline here. */
const PROCESSOR_SECONDS_MAX = 120;

/**
 * A process that checks files which others provide, so that a file which blocks, crashes or exhausts its parser affects no other process.
 * The program gets a path by `checkOnRequest` and returns one message for each. On systems without a shell memory is not limited.
 */
export class CheckChild {
  readonly #child: ChildProcess;

  constructor(program: keyof typeof PROGRAMS, memoryBytesMax: number) {
    const limits = [String(PROCESSOR_SECONDS_MAX), String(Math.ceil(memoryBytesMax / 1024))];
    this.#child = fork(programPath(program), {
      // The child must not inherit the parent's debugger or loaders.
      ...(existsSync(SHELL)
        ? { execPath: SHELL, execArgv: ['-c', LIMITED, process.execPath, ...limits] }
        : { execArgv: [] }),
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    // Without a listener an error of a child that nobody asks would end this process.
    this.#child.on('error', () => {});
  }

  /** Never rejects. Ask for one path at a time. After an answer that is none, use another child. */
  async ask(path: string, msMax: number): Promise<ChildAnswer> {
    const child = this.#child;
    if (!child.connected) return { kind: 'absent', detail: 'it has ended' };
    const timer = runningTimer(msMax);
    let isLate = false;
    void timer.passed.then(() => {
      isLate = true;
      child.kill('SIGKILL');
    });
    const answer = await new Promise<ChildAnswer>((resolve) => {
      child.once('message', (message) => resolve({ kind: 'answer', message }));
      child.once('error', ({ message }) => resolve({ kind: 'absent', detail: message }));
      child.once('exit', (code, signal) => {
        const ended = `ended the process (${signal ?? `exit code ${code}`})`;
        resolve({ kind: 'ended', detail: isLate ? `took longer than ${msMax} ms` : ended });
      });
      // A child that ends while it is asked reports that by its exit.
      child.send(path, () => {});
    });
    timer.cancel();
    child.removeAllListeners('message').removeAllListeners('exit');
    return answer;
  }

  /** Ends the process. */
  close(): void {
    this.#child.kill('SIGKILL');
  }
}

/**
 * In the child: sends the result for each path that the parent asks for. The system ends this process first when it has no memory left. The
 * process also ends when the parent closes the channel or exits, and when a check rejects.
 */
export function checkOnRequest(check: (path: string) => Promise<unknown>): void {
  const send = process.send?.bind(process);
  if (send === undefined) throw new Error('this program must be forked');
  preferForOutOfMemory();
  process.once('disconnect', () => process.exit(0));
  process.on('message', (path) => void check(String(path)).then((result) => send(result)));
}

function preferForOutOfMemory(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Not Linux, or without /proc.
  }
}
