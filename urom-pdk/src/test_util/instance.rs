//! One plugin, driven through its C methods like in a worker, and observed.

mod beyond;

use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use urom_abi::describe::{self, Messages};
use urom_abi::descriptor::CommandDesc;
use urom_abi::driver::{self, Methods, Missing, OpenPlugin};
use urom_abi::extension::PluginExtension;
use urom_abi::log::Level;
use urom_abi::plugin::{PluginIface, WorkerCtx};
use urom_abi::test_util::watch;
use urom_abi::{DocaError, DocaStatus};

use super::fault::{Asked, Fault, Report};
use super::ledger::Ledger;
use super::lookups::{Lookup, TestCtx, TestMember};
use super::members::SharedDomain;
use super::pack;
use super::services::Services;

/// The plugin's id in the kit's workers (`urom_worker_cmd::type`).
pub(super) const PLUGIN_ID: u64 = 4;

#[derive(Default)]
pub(super) struct World {
    pub(super) shared: Arc<SharedDomain>,
    members: RefCell<Vec<Weak<TestInstance>>>,
}

impl World {
    pub(super) fn join(&self, instance: &Rc<TestInstance>) {
        let mut members = self.members.borrow_mut();
        members.retain(|member| member.strong_count() > 0);
        members.push(Rc::downgrade(instance));
    }

    pub(super) fn living(&self) -> Vec<Rc<TestInstance>> {
        self.members.borrow().iter().filter_map(Weak::upgrade).collect()
    }

    pub(super) fn progress(&self) -> usize {
        self.living().iter().map(|instance| instance.progress()).sum()
    }
}

pub(super) struct TestInstance {
    /// Owner of the allocated descriptors, unique in the process.
    pub(super) owner: u64,
    plugin: &'static str,
    commands: &'static Messages,
    /// `None` before `open` and after `close`.
    open: RefCell<Option<OpenPlugin>>,
    /// Freed after `close`; the plugin may keep this address.
    ctx: NonNull<WorkerCtx>,
    /// Whether the plugin frees its memory through this copy of `urom-abi`.
    is_watched: bool,
    pub(super) services: Rc<Services>,
    /// Connections whose hosts left, and whether the plugin was notified.
    left: RefCell<Vec<(u64, bool)>>,
    pub(super) address: RefCell<Vec<u8>>,
    ledger: RefCell<Ledger>,
    member: Arc<TestMember>,
    pub(super) world: Rc<World>,
}

impl TestInstance {
    /// Opens a plugin and reads its address.
    /// # Errors
    /// The plugin's code; `INITIALIZATION` without a method or version word.
    /// # Safety
    /// The methods belong to a plugin and may be called on this thread.
    pub(super) unsafe fn open(
        (iface, extension): (PluginIface, PluginExtension),
        protocol: &'static describe::Protocol,
        is_watched: bool,
        world: &Rc<World>,
    ) -> Result<Rc<TestInstance>, DocaError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        crate::time::clock::stop();
        let methods = Methods::of(&iface).map_err(|Missing(field)| {
            let text = format_args!("plugin {}: its interface lacks `{field}`", protocol.name);
            crate::log::failure(Level::Error, None, text);
            DocaError::INITIALIZATION
        })?;
        let domain = Arc::clone(&world.shared);
        let failures = Mutex::new(VecDeque::new());
        let member = Arc::new(TestMember { domain, plugin: protocol.name, failures });
        let services = Services::new();
        let instance = TestInstance {
            owner: NEXT.fetch_add(1, Ordering::Relaxed),
            plugin: protocol.name,
            commands: &protocol.commands,
            open: RefCell::default(),
            ctx: TestCtx::leak(iface, Arc::clone(&member), Rc::clone(&services)),
            is_watched,
            services,
            left: RefCell::default(),
            address: RefCell::default(),
            ledger: RefCell::default(),
            member,
            world: Rc::clone(world),
        };
        // SAFETY: the caller guarantees the methods; the instance keeps the context.
        instance.watched(|| unsafe {
            driver::attach(&extension, instance.ctx, &instance.services.table);
        });
        // SAFETY: as above; `drop` closes the plugin before it frees the context.
        let open =
            instance.watched(|| unsafe { OpenPlugin::open(methods, extension, instance.ctx) })?;
        *instance.open.borrow_mut() = Some(open);
        *instance.address.borrow_mut() = instance.ask_address()?;
        let instance = Rc::new(instance);
        world.join(&instance);
        Ok(instance)
    }

    fn watched<R>(&self, run: impl FnOnce() -> R) -> R {
        watch::of(self.owner, run)
    }

    fn with<R>(&self, call: impl FnOnce(&mut OpenPlugin) -> R) -> R {
        let mut open = self.open.borrow_mut();
        let plugin = open.as_mut().expect("callers ask whether it is open");
        self.watched(|| call(plugin))
    }

    pub(super) fn ledger(&self) -> RefMut<'_, Ledger> {
        self.ledger.borrow_mut()
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.borrow().is_some()
    }

    fn ask_address(&self) -> Result<Vec<u8>, DocaError> {
        let len = match self.with(|plugin| plugin.address(&mut [])) {
            (DocaStatus::SUCCESS, 0) => return Ok(Vec::new()),
            (DocaStatus::INVALID_VALUE, len) => len,
            (status, len) => status.check().map(|()| len)?,
        };
        let mut bytes = vec![pack::FILL; len + pack::GUARD];
        let (status, again) = self.with(|plugin| plugin.address(&mut bytes[..len]));
        status.check()?;
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

    pub(super) fn queue(&self, connection: u64, bytes: &[u8]) -> u64 {
        let token = self.ask(connection, bytes);
        self.list(connection, token, bytes);
        token
    }

    fn ask(&self, connection: u64, bytes: &[u8]) -> u64 {
        let name = self.commands.find(bytes).map_or("unknown command", |variant| variant.name);
        self.ledger().ask(name, bytes.len(), connection)
    }

    fn list(&self, connection: u64, token: u64, bytes: &[u8]) {
        let command =
            watch::of(self.owner, || CommandDesc::new(connection, PLUGIN_ID, token, bytes));
        let command = command.expect("the C heap has space for a command");
        self.with(|plugin| plugin.push(command));
    }

    /// As in a worker, a failing plugin is called again while it takes commands.
    pub(super) fn flush(&self) {
        if self.is_open()
            && self.with(|plugin| plugin.has_commands())
            && let Err(code) = self.with(|plugin| plugin.deliver(|_| ()))
        {
            self.refuse_rest(code);
        }
    }

    fn refuse_rest(&self, code: DocaError) {
        while let Some(command) = self.with(OpenPlugin::take_back) {
            self.ledger().refuse(command.header().urom_context, code);
        }
    }

    /// Calls `progress` once and handles its notifications. Returns their number; 0 if closed.
    pub(super) fn progress(&self) -> usize {
        if !self.is_open() {
            return 0;
        }
        self.services.memories.turn(|done| self.watched(done));
        if let Err(code) = self.with(OpenPlugin::progress) {
            let (fault, mut ledger) = (Fault::Progress(code), self.ledger());
            // A plugin may fail repeatedly for as long as a test waits.
            if ledger.faults.last() != Some(&fault) {
                ledger.faults.push(fault);
            }
        }
        let mut count = 0;
        while let Some(notification) = self.with(OpenPlugin::notification) {
            count += 1;
            self.take_in(notification);
        }
        self.notify_hosts_left();
        count
    }

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
        let limit = self.services.limit.get();
        let packed = self.with(|plugin| pack::notification(plugin, notification, limit));
        let mut ledger = self.ledger();
        ledger.faults.extend(packed.wrong.map(|what| Fault::Pack(command, what)));
        ledger.answer(header.urom_context, packed.notification);
    }

    pub(super) fn fail_lookup(&self, lookup: Lookup, code: DocaError) {
        self.member
            .failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back((lookup, code));
    }

    pub(super) fn close(&self) {
        if !self.is_open() {
            return;
        }
        // Unsent commands still belong to the worker.
        self.refuse_rest(DocaError::SHUTDOWN);
        self.services.memories.shut(|done| self.watched(done));
        let open = self.open.take();
        self.watched(|| drop(open));
    }

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
            // By number, not by address.
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

    pub(super) fn describe(&self, token: u64) -> String {
        self.ledger()
            .asked(token)
            .map_or_else(|| "a command of another worker".into(), Asked::to_string)
    }
}

impl Drop for TestInstance {
    fn drop(&mut self) {
        self.close();
        watch::forget(self.owner);
        // SAFETY: from `leak` in `open`; the plugin is closed and does not use it.
        unsafe { TestCtx::free(self.ctx) };
    }
}
