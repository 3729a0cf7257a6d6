// What webpack makes of a library for Node: nothing in the text says `exports.name =`.
(function (root, make) {
  if (typeof exports === 'object' && typeof module !== 'undefined') make(exports);
  else make((root.bundle = {}));
})(typeof global !== 'undefined' ? global : this, function (target) {
  const all = { add: (a, b) => a + b, delete: (what) => `deleted ${what}` };
  for (const name of Object.keys(all)) target[name] = all[name];
});
