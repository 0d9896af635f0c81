// The difference of two texts by lines: the longest common subsequence is the same, the rest added or removed.

/** [["same" | "added" | "removed", line]]. */
export function diffLines(before, after) {
  const a = before.split("\n");
  const b = after.split("\n");
  const longest = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { found.push(["same", a[i]]); i++; j++; }
    else if (i < a.length && (j === b.length || longest[i + 1][j] >= longest[i][j + 1])) found.push(["removed", a[i++]]);
    else found.push(["added", b[j++]]);
  }
  return found;
}
