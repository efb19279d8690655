import type { FieldError } from '../../base/problem.ts';

/** null when the service may go there, as far as that can be told without asking the name service. `detail` is public text. */
export type CheckTarget = (url: string) => TargetFault | null;

interface TargetFault {
  /** `invalid`: not of a URL's form. */
  readonly code: 'invalid' | 'blocked_url';
  readonly detail: string;
}

/** A URL of the caller's that is called as it stands: errors of its form, and whether it may not be reached. */
export function readTarget(
  url: string,
  pointer: string,
  checkTarget: CheckTarget,
): { readonly errors: readonly FieldError[]; readonly blocked: readonly FieldError[] } {
  const fault = checkTarget(url);
  if (fault === null) return { errors: [], blocked: [] };
  const { code, detail: message } = fault;
  return code === 'invalid'
    ? { errors: [{ pointer, code: 'invalid_value', message }], blocked: [] }
    : { errors: [], blocked: [{ pointer, code, message }] };
}
