// The objects that every script reaches without making them: what they were like, whether a script has changed
// them, and how they are sealed once they serve more than one virtual user.
(function () {
  'use strict';
  const { ownKeys, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  const { freeze, preventExtensions, is } = Object;
  const { max } = Math;
  const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';
  const fields = ['value', 'get', 'set'];

  function describe(object) {
    const members = ownKeys(object).map((key) => {
      const property = getOwnPropertyDescriptor(object, key);
      return { key, value: property.value, get: property.get, set: property.set };
    });
    return { prototype: getPrototypeOf(object), members };
  }

  // All objects that can be reached from the roots, with their members. Getters are not called.
  function list(roots) {
    const seen = new Map();
    const open = [];
    const add = (object, path, isPrototype) => {
      if (!isObject(object)) return;
      const known = seen.get(object);
      if (known) {
        known.isPrototype ||= isPrototype;
        return;
      }
      const found = { object, path, isPrototype, ...describe(object) };
      seen.set(object, found);
      open.push(found);
    };
    for (const name of ownKeys(roots)) add(roots[name], name, false);
    while (open.length > 0) {
      const { path, prototype, members } = open.pop();
      add(prototype, `the prototype of ${path}`, true);
      for (const member of members) {
        const inner = path === 'globalThis' ? String(member.key) : `${path}.${String(member.key)}`;
        for (const field of fields) add(member[field], inner, member.key === 'prototype');
      }
    }
    return [...seen.values()];
  }

  // The first member that is no longer what it was.
  function changed(before) {
    for (const { object, path, prototype, members } of before) {
      const now = describe(object);
      if (now.prototype !== prototype) return `the prototype of ${path}`;
      for (let index = 0; index < max(members.length, now.members.length); index += 1) {
        const [was, got] = [members[index], now.members[index]];
        const same = was && got && was.key === got.key && fields.every((field) => is(was[field], got[field]));
        if (!same) return `${path}.${String((got ?? was).key)}`;
      }
    }
    return '';
  }

  // Objects that scripts inherit from stay writable: a frozen member of a prototype could not be assigned to on
  // the script's own objects either (`error.name = …`).
  function seal(all) {
    for (const { object, isPrototype } of all) (isPrototype ? preventExtensions : freeze)(object);
  }

  return { list, changed, seal };
})()
