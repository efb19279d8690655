import { BoundedCache } from './bounded-cache.ts';

/**
 * Answers a question about names that customers choose, such as types of events and names of keys, and keeps the answers: a customer uses a
 * handful, but each request could bring another, so at most twice `namesMax` are kept.
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
