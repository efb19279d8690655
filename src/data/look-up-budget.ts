/** Choice: two checks of at most two look-ups each, so at most 4 look-ups a second. */
const CHECKS_PER_SECOND = 2;
const SHARE_MS = 60_000;
/** Choice: three quarters of the 120 checks of a minute; the rest is for other customers. */
const CHECKS_PER_CUSTOMER = 90;
/** Choice: a network of crawlers is known after a few minutes, and a flood from one network leaves most of the budget. */
const CHECKS_PER_SOURCE = 6;

/** Limits checks in all, and the share of each customer and source network. Holds at most the 120 askers of a minute. */
export class LookUpBudget {
  #secondAtMs = Number.NEGATIVE_INFINITY;
  #checks = 0;
  #shareAtMs = Number.NEGATIVE_INFINITY;
  readonly #shares = new Map<string, number>();

  /** Returns whether a check may begin now; counts it then. `nowMs` never goes back. */
  take(customer: number, source: string, nowMs: number): boolean {
    if (nowMs - this.#secondAtMs >= 1_000) {
      this.#secondAtMs = nowMs;
      this.#checks = 0;
    }
    if (nowMs - this.#shareAtMs >= SHARE_MS) {
      this.#shareAtMs = nowMs;
      this.#shares.clear();
    }
    const ofCustomer = this.#shares.get(`c${customer}`) ?? 0;
    const ofSource = this.#shares.get(`s${source}`) ?? 0;
    if (this.#checks >= CHECKS_PER_SECOND || ofCustomer >= CHECKS_PER_CUSTOMER || ofSource >= CHECKS_PER_SOURCE)
      return false;
    this.#checks++;
    this.#shares.set(`c${customer}`, ofCustomer + 1);
    this.#shares.set(`s${source}`, ofSource + 1);
    return true;
  }
}
