import { compareWithWorker } from './automation-codes.ts';
import type { CollectorSettings } from './collector-options.ts';
import { readMakeup, type DeviceMakeup } from './device-makeup.ts';
import { helpForms } from './form-helper.ts';
import { holdGrant } from './grant-holder.ts';
import { followInput } from './input-cadence.ts';
import { keepIds } from './kept-ids.ts';
import { followPage } from './page-life.ts';
import { attempt } from './page-proof.ts';
import { writeToken, type TokenParts } from './token-writer.ts';

/** The collector between `start` and `stop`. */
export interface CollectorRun extends TokenParts {
  makeup: DeviceMakeup | null;
  readonly codes: string[];
  readonly settings: CollectorSettings;
  readonly controller: AbortController;
  /** The device was read, or is not to be read. */
  isRead: boolean;
  readonly whenRead: Promise<void>;
}

/** Choice: later than any device was read in the tests; a token that is requested earlier waits for at most this time. */
const TOKEN_WAIT_MS_MAX = 450;

/** Starts reading signals; ends with the signal of `controller`. */
export function startRun(settings: CollectorSettings): CollectorRun {
  const controller = new AbortController();
  const { signal } = controller;
  const grants = holdGrant(settings);
  const ids = keepIds(settings);
  // A grant is requested when somebody uses the page, not for every page that is opened.
  const cadence = followInput(signal, () => void grants.renew());
  const life = { onReturn: () => (ids.renewPage(), cadence.reset()), onRoute: () => cadence.reset() };
  const hiddenMs = attempt(() => followPage(life, signal)) ?? (() => 0);
  const codes: string[] = [];
  const run: CollectorRun = {
    settings,
    controller,
    grants,
    ids,
    cadence,
    hiddenMs,
    codes,
    makeup: null,
    isRead: settings.mode === 'minimal',
    whenRead: settings.mode === 'minimal' ? Promise.resolve() : read(),
  };
  if (settings.worker) void compareWithWorker().then((code) => code !== null && codes.push(code));
  async function read(): Promise<void> {
    try {
      // In two steps: the left side of an assignment is evaluated before the wait.
      const makeup = await readMakeup();
      run.makeup = makeup;
    } catch {
      // A token without a fingerprint is better than none.
    }
    run.isRead = true;
  }
  helpForms(
    {
      get ready() {
        return run.isRead && (settings.publicKey === null || grants.current !== null);
      },
      whenReady: async () => void (await Promise.all([run.whenRead, grants.renew()])),
      write: () => writeToken(run),
    },
    signal,
  );
  return run;
}

/** Returns a token within 450 ms; `''` if the run ended meanwhile. */
export async function newToken(run: CollectorRun): Promise<string> {
  const granted = run.grants.renew();
  if (!run.isRead || run.grants.current === null) await atMost(TOKEN_WAIT_MS_MAX, Promise.all([run.whenRead, granted]));
  return run.controller.signal.aborted ? '' : writeToken(run);
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work, end]);
  clearTimeout(timer);
}
