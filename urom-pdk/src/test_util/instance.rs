//! One plugin, driven through its C methods as a worker drives it, and watched while it does what
//! it is asked.

mod beyond;

use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use urom_abi::DocaError;
use urom_abi::describe::{self, Messages};
use urom_abi::descriptor::{CommandDesc, DescriptorList};
use urom_abi::extension::PluginExtension;
use urom_abi::list::ListLink;
use urom_abi::log::Level;
use urom_abi::plugin::{PluginIface, WorkerCmdDesc, WorkerCtx, WorkerNotifDesc};
use urom_abi::test_util::watch;

use super::fault::{Asked, Fault, Report};
use super::ledger::Ledger;
use super::lookups::{Lookup, Member, Seat};
use super::members::Shared;
use super::pack;
use super::services::Services;

/// The id that every plugin of the kit is given (`urom_worker_cmd::type`).
pub(super) const PLUGIN_ID: u64 = 4;

/// The first field that an interface lacks. A worker opens no plugin without its version word
/// either.
fn missing(iface: &PluginIface) -> Option<&'static str> {
    let fields = [
        ("__doca_api_version", iface.api_version == 0),
        ("open", iface.open.is_none()),
        ("close", iface.close.is_none()),
        ("addr", iface.addr.is_none()),
        ("worker_cmd", iface.worker_cmd.is_none()),
        ("progress", iface.progress.is_none()),
        ("notif_pack", iface.notif_pack.is_none()),
    ];
    fields.into_iter().find(|(_, is_missing)| *is_missing).map(|(name, _)| name)
}

const CHECKED: &str = "`open` refuses an interface that lacks a method";

/// What a domain is made of.
#[derive(Default)]
pub(super) struct World {
    pub(super) shared: Arc<Shared>,
    members: RefCell<Vec<Weak<Instance>>>,
}

impl World {
    pub(super) fn join(&self, instance: &Rc<Instance>) {
        let mut members = self.members.borrow_mut();
        members.retain(|member| member.strong_count() > 0);
        members.push(Rc::downgrade(instance));
    }

    pub(super) fn living(&self) -> Vec<Rc<Instance>> {
        self.members.borrow().iter().filter_map(Weak::upgrade).collect()
    }

    pub(super) fn progress(&self) -> usize {
        self.living().iter().map(|instance| instance.progress()).sum()
    }
}

/// A plugin, open or closed.
pub(super) struct Instance {
    /// Whose descriptors are its own; no two instances of a process share it.
    pub(super) owner: u64,
    plugin: &'static str,
    commands: &'static Messages,
    iface: PluginIface,
    extension: PluginExtension,
    /// Given back when the plugin is closed; the plugin may keep this address.
    ctx: NonNull<WorkerCtx>,
    is_open: Cell<bool>,
    /// Whether the plugin frees what it gets through this copy of `urom-abi`.
    is_watched: bool,
    pub(super) services: Rc<Services>,
    /// Connections whose hosts left, and whether the plugin was told.
    left: RefCell<Vec<(u64, bool)>>,
    pub(super) address: RefCell<Vec<u8>>,
    lists: RefCell<Lists>,
    ledger: RefCell<Ledger>,
    member: Arc<Member>,
    /// Keeps what look-ups gave.
    pub(super) world: Rc<World>,
}

/// What goes to the plugin and what comes from it.
struct Lists {
    commands: DescriptorList<WorkerCmdDesc>,
    notifications: DescriptorList<WorkerNotifDesc>,
}

impl Instance {
    /// Opens a plugin and asks for its address.
    ///
    /// # Errors
    /// The plugin's code; `INITIALIZATION` when it lacks a method or its version word. It is closed
    /// again if it was open.
    ///
    /// # Safety
    /// The methods are those of a plugin, which may be called on this thread.
    pub(super) unsafe fn open(
        (iface, extension): (PluginIface, PluginExtension),
        protocol: &'static describe::Protocol,
        is_watched: bool,
        world: &Rc<World>,
    ) -> Result<Rc<Instance>, DocaError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        crate::time::clock::stop();
        if let Some(missing) = missing(&iface) {
            let text = format_args!("plugin {}: its interface lacks `{missing}`", protocol.name);
            crate::log::failure(Level::Error, None, text);
            return Err(DocaError::INITIALIZATION);
        }
        let domain = Arc::clone(&world.shared);
        let failures = Mutex::new(VecDeque::new());
        let member = Arc::new(Member { domain, plugin: protocol.name, failures });
        let services = Services::new();
        let instance = Instance {
            owner: NEXT.fetch_add(1, Ordering::Relaxed),
            plugin: protocol.name,
            commands: &protocol.commands,
            iface,
            extension,
            ctx: Seat::leak(iface, Arc::clone(&member), Rc::clone(&services)),
            is_open: Cell::new(false),
            is_watched,
            services,
            left: RefCell::default(),
            address: RefCell::default(),
            lists: RefCell::new(Lists {
                commands: DescriptorList::new(),
                notifications: DescriptorList::new(),
            }),
            ledger: RefCell::default(),
            member,
            world: Rc::clone(world),
        };
        if let Some(attach) = extension.attach {
            // SAFETY: the plugin's function; context and services stay until the instance is
            // dropped.
            instance.watched(|ctx| unsafe { attach(ctx, &instance.services.table) });
        }
        // SAFETY: the caller's promise; the context stays where it is until the instance is
        // dropped.
        instance.watched(|ctx| unsafe { (iface.open.expect(CHECKED))(ctx) }).check()?;
        instance.is_open.set(true);
        *instance.address.borrow_mut() = instance.ask_address()?;
        let instance = Rc::new(instance);
        world.join(&instance);
        Ok(instance)
    }

    /// Calls a method; what it allocates is this plugin's.
    fn watched<R>(&self, call: impl FnOnce(*mut WorkerCtx) -> R) -> R {
        watch::of(self.owner, || call(self.ctx.as_ptr()))
    }

    pub(super) fn ledger(&self) -> RefMut<'_, Ledger> {
        self.ledger.borrow_mut()
    }

    /// Whether the plugin can be called.
    pub(super) fn is_open(&self) -> bool {
        self.is_open.get()
    }

    /// The two-call protocol: first the length, then the bytes.
    fn ask_address(&self) -> Result<Vec<u8>, DocaError> {
        let ask = |to: *mut c_void, len: &mut usize| {
            // SAFETY: the plugin's method, on its open context, with as many bytes to write to as
            // `len` says.
            self.watched(|ctx| unsafe { (self.iface.addr.expect(CHECKED))(ctx, to, len) })
        };
        let mut len = 0;
        match ask(null_mut(), &mut len) {
            DocaError::SUCCESS if len == 0 => return Ok(Vec::new()),
            DocaError::SUCCESS | DocaError::INVALID_VALUE => {}
            code => return Err(code),
        }
        let (mut bytes, mut again) = (vec![pack::FILL; len + pack::GUARD], len);
        ask(bytes.as_mut_ptr().cast(), &mut again).check()?;
        if again > len {
            let what = format!("it has {len} bytes when asked first, and {again} then");
            self.ledger().faults.push(Fault::Address(what));
        }
        if bytes[len..].iter().any(|byte| *byte != pack::FILL) {
            let what = format!("it wrote more than the {len} bytes that it asked for");
            self.ledger().faults.push(Fault::Address(what));
        }
        bytes.truncate(again.min(len));
        Ok(bytes)
    }

    /// Hangs a command into the list; its token.
    pub(super) fn queue(&self, connection: u64, bytes: &[u8]) -> u64 {
        let token = self.ask(connection, bytes);
        self.list(connection, token, bytes);
        token
    }

    /// Notes a command that is about to be handed over; its token.
    fn ask(&self, connection: u64, bytes: &[u8]) -> u64 {
        let name = self.commands.find(bytes).map_or("unknown command", |variant| variant.name);
        self.ledger().ask(name, bytes.len(), connection)
    }

    fn list(&self, connection: u64, token: u64, bytes: &[u8]) {
        let command =
            watch::of(self.owner, || CommandDesc::new(connection, PLUGIN_ID, token, bytes));
        let command = command.expect("the C heap has room for a command");
        self.lists.borrow_mut().commands.push_back(command);
    }

    /// Hands the list over. As in a worker, a plugin that fails is called again while that moves
    /// anything; for what it then leaves the worker answers.
    pub(super) fn flush(&self) {
        let mut lists = self.lists.borrow_mut();
        while !lists.commands.is_empty() {
            let list = lists.commands.as_raw();
            // SAFETY: the list's head is initialised.
            let first: *mut ListLink = unsafe { (*list).next };
            // SAFETY: the plugin's method, on its open context, with a well-formed list of
            // descriptors of the C heap.
            let code =
                self.watched(|ctx| unsafe { (self.iface.worker_cmd.expect(CHECKED))(ctx, list) });
            let Err(code) = code.check() else { return };
            // SAFETY: `lists` owns the list, whose head `DescriptorList::new` initialised.
            if unsafe { (*list).next } == first {
                while let Some(command) = lists.commands.pop_front() {
                    self.ledger().refuse(command.header().urom_context, code);
                }
            }
        }
    }

    /// Calls `progress` once and takes in what came; how many notifications that were. A closed
    /// plugin does nothing.
    pub(super) fn progress(&self) -> usize {
        if !self.is_open() {
            return 0;
        }
        self.services.memories.turn(|done| self.watched(|_| done()));
        let mut lists = self.lists.borrow_mut();
        let list = lists.notifications.as_raw();
        // SAFETY: the plugin's method, on its open context, with a well-formed list to append to.
        let code = self.watched(|ctx| unsafe { (self.iface.progress.expect(CHECKED))(ctx, list) });
        if code != DocaError::SUCCESS && code != DocaError::EMPTY {
            let (fault, mut ledger) = (Fault::Progress(code), self.ledger());
            // A plugin that fails once may do so for as long as a test waits.
            if ledger.faults.last() != Some(&fault) {
                ledger.faults.push(fault);
            }
        }
        let mut count = 0;
        while let Some(notification) = lists.notifications.pop_front() {
            count += 1;
            self.take_in(notification);
        }
        drop(lists);
        self.tell_of_left();
        count
    }

    /// Looks at a notification, packs it as a worker does, and notes it.
    fn take_in(&self, notification: urom_abi::descriptor::NotificationDesc) {
        let header = *notification.header();
        let connection = notification.dest_id();
        let command = self.ledger().asked(header.urom_context).cloned();
        if let Some(command) = &command
            && (header.plugin_id != PLUGIN_ID || connection != command.connection)
        {
            let plugin_id = header.plugin_id;
            let fault = Fault::Misaddressed { command: command.clone(), plugin_id, connection };
            self.ledger().faults.push(fault);
        }
        // SAFETY: the plugin's method, with a notification that it made.
        let packed = self.watched(|_| unsafe {
            pack::notification(
                self.iface.notif_pack.expect(CHECKED),
                notification,
                self.services.limit.get(),
            )
        });
        let mut ledger = self.ledger();
        ledger.faults.extend(packed.wrong.map(|what| Fault::Pack(command, what)));
        ledger.answer(header.urom_context, packed.notification);
    }

    /// The next look-up of this kind fails.
    pub(super) fn fail_lookup(&self, lookup: Lookup, code: DocaError) {
        self.member
            .failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back((lookup, code));
    }

    /// Closes the plugin, once; notes what it leaves behind.
    pub(super) fn close(&self) {
        if !self.is_open.replace(false) {
            return;
        }
        // What was never handed over stays the worker's.
        let mut lists = self.lists.borrow_mut();
        while let Some(command) = lists.commands.pop_front() {
            self.ledger().refuse(command.header().urom_context, DocaError::SHUTDOWN);
        }
        self.services.memories.shut(|done| self.watched(|_| done()));
        // SAFETY: the plugin's method, on its open context, once.
        self.watched(|ctx| unsafe { (self.iface.close.expect(CHECKED))(ctx) });
    }

    /// Ends the account: what the plugin, which is closed, owes.
    pub(super) fn report(&self) -> Report {
        let mut ledger = self.ledger();
        ledger.close();
        ledger.faults.extend(self.services.memories.faults());
        if self.is_watched {
            let (mut commands, mut notifications) = (Vec::new(), Vec::new());
            for block in watch::living(self.owner) {
                match block {
                    watch::Block::Notification(len) => notifications.push(len),
                    watch::Block::Command(token) => commands.extend(ledger.asked(token).cloned()),
                }
            }
            // By their numbers, not their addresses.
            commands.sort_unstable();
            notifications.sort_unstable();
            ledger.faults.extend(commands.into_iter().map(Fault::CommandKept));
            ledger.faults.extend(notifications.into_iter().map(Fault::NotificationKept));
        }
        Report {
            plugin: self.plugin,
            commands: ledger.commands(),
            notifications: ledger.notifications,
            cut_off: ledger.cut_off,
            faults: std::mem::take(&mut ledger.faults),
        }
    }

    /// What a command is called in reports.
    pub(super) fn describe(&self, token: u64) -> String {
        self.ledger()
            .asked(token)
            .map_or_else(|| "a command of another worker".into(), Asked::to_string)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.close();
        watch::forget(self.owner);
        // SAFETY: from `leak` in `open`; after `close`, or a failed `open`, the plugin does not use
        // it.
        unsafe { Seat::free(self.ctx) };
    }
}
