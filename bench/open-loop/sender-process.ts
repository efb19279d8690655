import type { SendPlan } from './plan.ts';
import { sendAll, type SendOutcome, type SendProgress } from './sender.ts';

/** Runs the sender in a separate process, so that neither drawing nor the sender of another target takes processor time from it. */

export type SenderMessage =
  | { readonly kind: 'progress'; readonly progress: SendProgress }
  | { readonly kind: 'done'; readonly outcome: SendOutcome };

const tell = (message: SenderMessage): void => {
  process.send?.(message);
};

process.on('message', (plan: SendPlan) => {
  void sendAll(plan, (progress) => tell({ kind: 'progress', progress })).then((outcome) =>
    tell({ kind: 'done', outcome }),
  );
});
process.on('disconnect', () => process.exit());
