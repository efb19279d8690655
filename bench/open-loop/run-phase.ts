import { type ChildProcess, fork } from 'node:child_process';
import type { SendPlan } from './plan.ts';
import type { SenderMessage } from './sender-process.ts';
import type { SendOutcome, SendProgress } from './sender.ts';

const SENDER = new URL('sender-process.js', import.meta.url).pathname;

/** A sender process for one target. Its code is compiled during its first phase, so a warm-up phase warms up the client too. */
export class Sender {
  readonly #child: ChildProcess = fork(SENDER, { serialization: 'advanced' });

  run(plan: SendPlan, onProgress: (progress: SendProgress) => void = () => {}): Promise<SendOutcome> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null): void => reject(new Error(`the sender exited with code ${code}`));
      const onMessage = (message: SenderMessage): void => {
        if (message.kind === 'progress') onProgress(message.progress);
        else {
          this.#child.off('message', onMessage).off('exit', onExit);
          resolve(message.outcome);
        }
      };
      this.#child.on('message', onMessage).on('exit', onExit);
      this.#child.send(plan);
    });
  }

  close(): void {
    this.#child.kill('SIGTERM');
  }
}
