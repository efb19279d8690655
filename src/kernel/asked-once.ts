import { BoundedCache } from './bounded-cache.ts';

/**
 * Answers a yes/no question about names chosen by customers, such as event types and key names, and caches the answers. A customer uses a
 * handful of names, but each request could bring a new one, so at most twice `namesMax` answers are kept.
 */
export function askedOnce(ask: (name: string) => boolean, namesMax = 256): (name: string) => boolean {
  const answers = new BoundedCache<string, boolean>(namesMax);
  return (name) => {
    const known = answers.get(name);
    if (known !== undefined) return known;
    const answer = ask(name);
    answers.set(name, answer);
    return answer;
  };
}
