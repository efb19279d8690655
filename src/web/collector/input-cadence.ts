import { listenOnDocument } from './page-proof.ts';

/**
 * The rhythm of the input on one page: counts and moments only. Which keys are pressed, what is typed or pasted, and where the pointer is,
 * is never read; a test proves it. Moments are milliseconds.
 */
export interface CadenceBeat {
  /** Keys pressed; a key that is held down counts once. */
  readonly keys: number;
  /** Gaps between them that were shorter than 2 s, their mean and their standard deviation. */
  readonly gaps: number;
  readonly gap: number;
  readonly gap_sd: number;
  /** Texts pasted into password fields. */
  readonly pastes: number;
  /** Moves of the pointer, and how many of them went on in the direction of the move before. */
  readonly moves: number;
  readonly straight: number;
  /** From the page's beginning to its first input; -1 before that. */
  readonly first: number;
  /** Fields that received the focus, and forms sent. */
  readonly focus: number;
  readonly submits: number;
}

/** Choice: longer gaps are pauses of thought, not rhythm. */
const GAP_MS_MAX = 2_000;
/** Choice: fewer events are too few for a share of events that scripts made. */
const SYNTHETIC_EVENTS_MIN = 8;

export interface InputCadence {
  /** When the page began, by `performance.now()`. */
  readonly startedMs: number;
  /** Share of keys and presses that a script made, 0 to 1; 0 until there are enough of them. */
  readonly syntheticShare: number;
  read(): CadenceBeat;
  /** Starts again, for a new page. */
  reset(): void;
}

/** Listens until `signal` aborts. `onInput` is called at every key, press and focus. */
export function followInput(signal: AbortSignal, onInput: () => void): InputCadence {
  let tally = emptyTally();

  const countInput = (isTrusted: boolean): void => {
    tally.events++;
    if (!isTrusted) tally.synthetic++;
    if (tally.firstMs < 0) tally.firstMs = performance.now() - tally.startedMs;
    onInput();
  };
  const listen = <K extends keyof DocumentEventMap>(type: K, listener: (event: DocumentEventMap[K]) => void): void =>
    listenOnDocument(type, listener, { capture: true, passive: true, signal });
  listen('keydown', ({ isTrusted, repeat, timeStamp }) => {
    if (!repeat) countKey(tally, timeStamp);
    countInput(isTrusted);
  });
  listen('pointerdown', ({ isTrusted }) => countInput(isTrusted));
  listen('focusin', () => {
    tally.focus++;
    onInput();
  });
  listen('submit', () => tally.submits++);
  listen('paste', ({ target }) => {
    if (target instanceof HTMLInputElement && target.type === 'password') tally.pastes++;
  });
  listen('pointermove', ({ movementX, movementY }) => countMove(tally, movementX, movementY));

  return {
    get startedMs() {
      return tally.startedMs;
    },
    get syntheticShare() {
      return tally.events < SYNTHETIC_EVENTS_MIN ? 0 : tally.synthetic / tally.events;
    },
    read: () => ({
      keys: tally.keys,
      gaps: tally.gaps,
      gap: Math.round(tally.gapMean),
      gap_sd: Math.round(tally.gaps === 0 ? 0 : Math.sqrt(tally.gapSquares / tally.gaps)),
      pastes: tally.pastes,
      moves: tally.moves,
      straight: tally.straight,
      first: Math.round(tally.firstMs),
      focus: tally.focus,
      submits: tally.submits,
    }),
    reset() {
      tally = emptyTally();
    },
  };
}

type Tally = ReturnType<typeof emptyTally>;

function emptyTally() {
  return {
    startedMs: performance.now(),
    keys: 0,
    lastKeyMs: 0,
    gaps: 0,
    gapMean: 0,
    /** Sum of squared deviations from the mean, after Welford. */
    gapSquares: 0,
    pastes: 0,
    moves: 0,
    straight: 0,
    /** The last step of the pointer. */
    stepX: 0,
    stepY: 0,
    firstMs: -1,
    focus: 0,
    submits: 0,
    events: 0,
    synthetic: 0,
  };
}

function countKey(tally: Tally, atMs: number): void {
  tally.keys++;
  const gapMs = atMs - tally.lastKeyMs;
  if (tally.lastKeyMs > 0 && gapMs < GAP_MS_MAX) {
    tally.gaps++;
    const away = gapMs - tally.gapMean;
    tally.gapMean += away / tally.gaps;
    tally.gapSquares += away * (gapMs - tally.gapMean);
  }
  tally.lastKeyMs = atMs;
}

/** Compares directions only: a step of at least 3 pixels at less than 6° from the one before is straight. */
function countMove(tally: Tally, x: number, y: number): void {
  if (x * x + y * y < 9) return;
  tally.moves++;
  const along = x * tally.stepX + y * tally.stepY;
  const across = x * tally.stepY - y * tally.stepX;
  if (along > 0 && Math.abs(across) < 0.1 * along) tally.straight++;
  tally.stepX = x;
  tally.stepY = y;
}
