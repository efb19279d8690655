import type { FieldError } from '../../contract/problem.ts';

/** Returns null if the service may call the URL, as far as that is known without a DNS look-up. `detail` is public text. */
export type CheckTarget = (url: string) => TargetFault | null;

interface TargetFault {
  /** `invalid`: not a well-formed URL. */
  readonly code: 'invalid' | 'blocked_url';
  readonly detail: string;
}

/** Checks a URL of the caller that will be called as it is. Returns errors of its format, and whether it must not be reached. */
export function readRequestTarget(
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
