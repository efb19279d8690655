/** Functions that run in the page: what its elements look like. */

/** Returns the colours of every element as they are, and those that new elements would have instead, in the order of the document. */
export function coloursOf(): { readonly shown: string[]; readonly fresh: string[] } {
  const names = ['color', 'backgroundColor', 'borderTopColor', 'borderBottomColor', 'fill', 'stroke'] as const;
  const read = (root: Element): string[] =>
    [root, ...root.querySelectorAll('*')].map((element) => {
      const style = getComputedStyle(element);
      const name = `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''}`;
      return `${name} ${names.map((each) => style[each]).join(' ')}`;
    });
  const app = document.querySelector('#app');
  if (app === null) throw new Error('the page has no #app');
  const copy = app.cloneNode(true) as Element;
  app.after(copy);
  const colours = { shown: read(app), fresh: read(copy) };
  copy.remove();
  return colours;
}

/**
 * Returns the marks of decisions and states that somebody could miss: without a word, with a sign that is nearly the colour of what is
 * behind it, and decisions with the sign of another one.
 */
export function faintMarks(): string[] {
  const numbers = (colour: string): number[] => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = (colour: string): number => {
    const [r = 0, g = 0, b = 0] = numbers(colour).map((part) => {
      const share = part / 255;
      return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.212_6 * r + 0.715_2 * g + 0.072_2 * b;
  };
  const behind = (element: Element | null): string => {
    for (let at = element; at !== null; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at);
      if ((numbers(backgroundColor)[3] ?? 1) > 0) return backgroundColor;
    }
    return 'rgb(255, 255, 255)';
  };
  const contrast = (a: string, b: string): number => {
    const [high = 0, low = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const faint: string[] = [];
  const words = new Map<string, string>();
  for (const mark of document.querySelectorAll('main .badge, main .state-mark, main .tag')) {
    const text = (mark.firstElementChild?.nextSibling?.textContent ?? mark.textContent).trim();
    if (text === '') faint.push(`no word: ${mark.outerHTML.slice(0, 120)}`);
    const back = behind(mark);
    const ofText = contrast(getComputedStyle(mark).color, back);
    if (ofText < 4.5) faint.push(`${text}: text ${ofText.toFixed(1)}`);
    const path = mark.querySelector('svg path');
    if (path === null) continue;
    const { fill, stroke } = getComputedStyle(path);
    const ofSign = contrast(fill === 'none' ? stroke : fill, back);
    if (ofSign < 3) faint.push(`${text}: sign ${ofSign.toFixed(1)} (${fill}, ${stroke} on ${back})`);
    if (!mark.classList.contains('badge')) continue;
    const shape = path.getAttribute('d') ?? '';
    if ((words.get(shape) ?? text) !== text) faint.push(`${text}: the sign of ${words.get(shape)}`);
    words.set(shape, text);
  }
  return faint;
}
