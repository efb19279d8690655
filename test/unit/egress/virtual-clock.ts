import type { Ticking, WheelClock } from '../../../src/egress/timer-wheel.ts';

/** A clock that a test advances, including the ticks that fall into that time. */
export interface VirtualClock extends WheelClock {
  /** Advances tick by tick, like a healthy event loop. */
  pass(ms: number): void;
  /** Advances at once with a single tick at the end, like a blocked event loop. */
  jump(ms: number): void;
  isTicking(): boolean;
  isHeld(): boolean;
}

export function virtualClock(): VirtualClock {
  let nowMs = 1000.5;
  let ticker: { everyMs: number; nextMs: number; tick: () => void } | null = null;
  let isHeld = false;
  const startTicking = (everyMs: number, tick: () => void): Ticking => {
    ticker = { everyMs, nextMs: nowMs + everyMs, tick };
    isHeld = true;
    return {
      stop: () => {
        ticker = null;
        isHeld = false;
      },
      hold: (held) => {
        isHeld = held;
      },
    };
  };
  return {
    nowMs: () => nowMs,
    startTicking,
    isTicking: () => ticker !== null,
    isHeld: () => isHeld,
    pass(ms) {
      const endMs = nowMs + ms;
      // A tick may stop the timer and start another one.
      for (let due = ticker; due !== null && due.nextMs <= endMs; due = ticker) {
        nowMs = due.nextMs;
        due.nextMs += due.everyMs;
        due.tick();
      }
      nowMs = endMs;
    },
    jump(ms) {
      nowMs += ms;
      if (ticker === null) return;
      ticker.nextMs = nowMs + ticker.everyMs;
      ticker.tick();
    },
  };
}
