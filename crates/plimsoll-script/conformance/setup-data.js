/* { "does": "what setup returns reaches the functions as a copy; teardown gets it too", "k6": "k6 refuses a function in the data of setup",
     "console": ["0 setup", "token undefined 1", "token undefined 1", "0 teardown token"], "iterations": 2,
     "functions": ["default", "setup", "teardown"] } */
export function setup() { console.log(__VU, 'setup'); return { token: 'token', f: () => 1 }; }
export default function (data) { console.log(data.token, data.f, __VU); }
export function teardown(data) { console.log(__VU, 'teardown', data.token); }
