import type { ShadowReview } from './review-row.ts';

/** Keeps the rows of one page by score; the older first among equals. */
export class BestReviews {
  readonly #limit: number;
  readonly #after: readonly [score: number, requestId: string] | null;
  /** By request id, because a row can be met twice: stored, and still waiting. */
  readonly #rows = new Map<string, ShadowReview>();

  constructor({ limit, after }: { readonly limit: number; readonly after: string | null }) {
    this.#limit = limit;
    const [score, requestId] = after?.split(PLACE_SEPARATOR) ?? [];
    this.#after = requestId === undefined ? null : [Number(score), requestId];
  }

  add(row: ShadowReview): void {
    if (this.#after !== null && compareByScore([row.score, row.requestId], this.#after) <= 0) return;
    this.#rows.set(row.requestId, row);
    // Choice: sorted once for many rows.
    if (this.#rows.size > 4 * (this.#limit + 1)) this.#cut();
  }

  page(): { readonly rows: readonly ShadowReview[]; readonly next: string | null } {
    this.#cut();
    const rows = [...this.#rows.values()];
    const page = rows.slice(0, this.#limit);
    const last = page.at(-1);
    const next =
      rows.length <= this.#limit || last === undefined ? null : `${last.score}${PLACE_SEPARATOR}${last.requestId}`;
    return { rows: page, next };
  }

  #cut(): void {
    const sorted = [...this.#rows.values()]
      .sort((a, b) => compareByScore([a.score, a.requestId], [b.score, b.requestId]))
      .slice(0, this.#limit + 1);
    this.#rows.clear();
    for (const row of sorted) this.#rows.set(row.requestId, row);
  }
}

/** Between score and request id where a page by score ends; no request id contains it. */
export const PLACE_SEPARATOR = '/';

function compareByScore([aScore, aId]: readonly [number, string], [bScore, bId]: readonly [number, string]): number {
  return bScore - aScore || (aId < bId ? -1 : aId > bId ? 1 : 0);
}
