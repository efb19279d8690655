import { createInterface } from 'node:readline';

/** Resolves to whether the person at the terminal agrees. */
export type ConfirmPrompt = (question: string) => Promise<boolean>;

/**
 * Asks on the terminal; only `y` and `yes` agree. Ctrl-C and the end of input decline. Choice: resolves to
 * true without a terminal, because nobody can be asked, and a script that names a key is assumed to be intended.
 */
export const confirm: ConfirmPrompt = (question) => {
  if (!process.stdin.isTTY) return Promise.resolve(true);
  return new Promise((resolve) => {
    // Standard output is reserved for the command's output.
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    terminal.once('close', () => resolve(false));
    terminal.question(`${question} [y/N] `, (answer) => {
      resolve(/^y(es)?$/i.test(answer.trim()));
      terminal.close();
    });
  });
};
