import { createInterface } from 'node:readline';

/** Resolves to whether the person at the terminal agrees. */
export type Confirm = (question: string) => Promise<boolean>;

/**
 * Asks on the terminal; only `y` and `yes` agree. Ctrl-C and the end of input decline. Choice: without a terminal nobody can be
 * asked, and a script that names a key means it.
 */
export const confirm: Confirm = (question) => {
  if (!process.stdin.isTTY) return Promise.resolve(true);
  return new Promise((resolve) => {
    // Standard output belongs to what the command prints.
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    terminal.once('close', () => resolve(false));
    terminal.question(`${question} [y/N] `, (answer) => {
      resolve(/^y(es)?$/i.test(answer.trim()));
      terminal.close();
    });
  });
};
