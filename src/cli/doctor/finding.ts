/** One line of `gatehouse doctor`. */
export interface DoctorFinding {
  /** What was looked at, in one or two words. */
  readonly check: string;
  /** `warn`: it works, and something should be done. `fail`: the server does not start, or not as it should. */
  readonly state: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** What to do; absent if nothing is. */
  readonly todo?: string;
}

export function fine(check: string, detail: string): DoctorFinding {
  return { check, state: 'ok', detail };
}

export function warned(check: string, detail: string, todo: string): DoctorFinding {
  return { check, state: 'warn', detail, todo };
}

export function failed(check: string, detail: string, todo: string): DoctorFinding {
  return { check, state: 'fail', detail, todo };
}
