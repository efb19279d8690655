import type { Readable } from 'node:stream';
import { DECISIONS } from '../../contract/vocabulary.ts';
import type { Decision } from '../../risk/decision.ts';
import { eventBody } from '../../work/webhook-event.ts';
import { addApiOptions, type ApiOptions, openApi, serviceOrigin } from '../api-access.ts';
import { type CommandError, usage } from '../command-outcome.ts';
import type { Cli } from '../context.ts';
import { parseDecisions } from '../decision-names.ts';
import { followDecisions, type LoggedRow } from '../follow-decisions.ts';
import {
  attemptJson,
  attemptText,
  isWebhookSecret,
  type LocalDelivery,
  newDelivery,
  newLocalSecret,
  sendLocally,
} from '../local-delivery.ts';
import { forTerminal } from '../terminal-text.ts';

interface ListenOptions extends ApiOptions {
  readonly forwardTo: string;
  readonly events: readonly Decision[];
  readonly secret?: string;
}

export function addListen(cli: Cli): void {
  addApiOptions(
    cli.program
      .command('listen')
      .description(
        'send the events of new decisions to a receiver that only this machine reaches, such as http://localhost:3000/hook, until Ctrl-C',
      )
      .requiredOption('--forward-to <url>', 'the receiver')
      .option('--events <decisions>', 'which, separated by commas', parseDecisions, DECISIONS)
      .option('--secret <secret>', 'sign with this secret, whsec_… (default: a new one, which is printed)'),
  ).action(async (options: ListenOptions) => {
    const fault = await listenAndForward(cli, options);
    if (fault !== null) await cli.run(() => Promise.resolve(fault));
  });
}

/**
 * Makes the events from the log of decisions and sends them from here, so that neither a webhook nor a network for outgoing requests has to
 * be set up. Returns why it ended; null if it was stopped.
 */
async function listenAndForward(cli: Cli, options: ListenOptions): Promise<CommandError | null> {
  const { io } = cli;
  const { forwardTo, events, secret = newLocalSecret() } = options;
  if (serviceOrigin(forwardTo) === null) return usage('malformed_url', `${forwardTo} is not an http or https URL`);
  if (!isWebhookSecret(secret)) return usage('malformed_secret', 'a secret is whsec_ and at least 24 bytes in base64');
  const opened = await openApi(cli, options);
  if (opened.kind === 'error') return opened;
  const { json } = cli.globals();
  const print = (value: object, text: string): void =>
    io.write(1, `${forTerminal(json ? JSON.stringify(value) : text)}\n`);
  const forward = async (delivery: LocalDelivery): Promise<void> => {
    const attempt = await sendLocally(forwardTo, secret, delivery);
    print(attemptJson(delivery, attempt), attemptText(delivery, attempt));
  };

  const stopping = new AbortController();
  io.stopSignal().addEventListener('abort', () => stopping.abort());
  let last: LocalDelivery | null = null;
  const keys = readKeys(io.stdin, {
    onResend: () => void (last === null ? io.write(2, 'nothing was sent yet\n') : forward(last)),
    onStop: () => stopping.abort(),
  });
  try {
    const following = followDecisions({
      api: opened.api,
      filter: {},
      before: 0,
      stop: stopping.signal,
      onStart: () =>
        print(
          { forward_to: forwardTo, secret, events },
          `Signing secret: ${secret}\nForwarding ${events.join(', ')} to ${forwardTo}. Keys: r sends the last event again, q ends.`,
        ),
      onTrouble: (trouble) => io.write(2, `${trouble?.message ?? 'connected again'}\n`),
    });
    for (;;) {
      const step = await following.next();
      if (step.done === true) return step.value;
      const row = step.value;
      if (!events.some((event) => event === row.decision)) continue;
      last = newDelivery(row.decision, row.request_id, bodyOf(row));
      await forward(last);
    }
  } finally {
    keys.close();
  }
}

function bodyOf({ request_id: requestId, decision, score, reasons, occurred_at: at }: LoggedRow): string {
  return eventBody({ requestId, decision: decision as Decision, score, reasons, occurredAtMs: at * 1000 });
}

interface KeyActions {
  readonly onResend: () => void;
  readonly onStop: () => void;
}

/** Reads single keys from a terminal; from anything else the same letters. */
function readKeys(stdin: Readable, { onResend, onStop }: KeyActions): { close(): void } {
  const terminal = stdin as Readable & { isTTY?: boolean; setRawMode?: (isRaw: boolean) => void };
  const isRaw = terminal.isTTY === true && terminal.setRawMode !== undefined;
  if (isRaw) terminal.setRawMode?.(true);
  const onData = (piece: Buffer): void => {
    for (const key of piece.toString('latin1')) {
      if (key === 'r') onResend();
      // Ctrl-C is no signal while keys are read one by one.
      else if (key === 'q' || key === '\u0003') onStop();
    }
  };
  stdin.on('data', onData).on('error', onStop);
  return {
    close() {
      stdin.off('data', onData);
      if (isRaw) terminal.setRawMode?.(false);
      stdin.pause();
    },
  };
}
